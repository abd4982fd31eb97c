import { randomUUID } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import path from 'node:path'

import { DialogueRefusal } from './dialogue-refusal.ts'
import { createSoundSifter } from './sound-sifter.ts'

const mebibyte = 1024 * 1024
const bodyLimitBytes = 96 * mebibyte
/** Limit of the body without audio data. Only this part is held in memory. */
const textLimitBytes = 8 * mebibyte

/** Audio of a request body, stored in a file. */
export interface ReceivedSound {
  path: string
  sizeBytes: number
  /** False if the text was not base64. The file is useless then. */
  readable: boolean
}

export interface ReceivedChat {
  body: unknown
  /** The audio that this value of the body stands for. */
  soundAt: (value: unknown) => ReceivedSound | undefined
}

/** Reads the JSON of a chat request. Audio in it is decoded into files of `folder` as it arrives. */
export async function receiveChat(message: AsyncIterable<Buffer>, folder: string): Promise<ReceivedChat> {
  // Random, so that a request cannot reference a file itself.
  const mark = randomUUID()
  const sift = createSoundSifter(mark)
  const textChunks: Buffer[] = []
  const sounds: ReceivedSound[] = []
  let file: FileHandle | undefined
  let receivedBytes = 0
  let textBytes = 0
  try {
    for await (const chunk of message) {
      receivedBytes += chunk.length
      if (receivedBytes > bodyLimitBytes)
        throw tooLarge(`The body is larger than ${bodyLimitBytes / mebibyte} MiB.`)
      for (const part of sift(chunk)) {
        if (part.kind === 'json') {
          textBytes += part.bytes.length
          if (textBytes > textLimitBytes)
            throw tooLarge(`The text of the body is larger than ${textLimitBytes / mebibyte} MiB.`)
          textChunks.push(part.bytes)
          continue
        }
        let sound = sounds[part.sound]
        if (sound === undefined) {
          await file?.close()
          sound = { path: path.join(folder, `sound-${part.sound}`), sizeBytes: 0, readable: true }
          sounds.push(sound)
          file = await open(sound.path, 'wx')
        }
        if (part.bytes === undefined) sound.readable = false
        else {
          await file?.writeFile(part.bytes)
          sound.sizeBytes += part.bytes.length
        }
      }
    }
  } finally {
    await file?.close()
  }
  return {
    body: parse(Buffer.concat(textChunks)),
    soundAt: (value) =>
      typeof value === 'string' && value.startsWith(`${mark}:`)
        ? sounds[Number(value.slice(mark.length + 1))]
        : undefined,
  }
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString())
  } catch {
    throw new DialogueRefusal(400, 'invalid_request', 'The body is not valid JSON.')
  }
}

function tooLarge(message: string): DialogueRefusal {
  return new DialogueRefusal(413, 'request_too_large', message)
}
