import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { childPrograms } from '../../test/kit/child-programs.ts'
import { bytesOf } from '../../test/kit/listen.ts'
import { findFfmpeg, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { encodeSpeech, speechFormats, type Sound } from './encode-speech.ts'

const never = new AbortController().signal
let tool: FfmpegTool
let directory: string

beforeAll(async () => {
  tool = await findFfmpeg({ ffmpegPath: 'ffmpeg' })
  directory = await mkdtemp(path.join(tmpdir(), 'kinora-encode-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

/** A tone that reports each second. */
function tone(seconds: number, onSecond: (second: number) => void = () => {}): Sound {
  const second = Int16Array.from({ length: 24_000 }, (_, place) => 8000 * Math.sin(place / 10))
  return {
    samplesPerSecond: 24_000,
    async *samples() {
      for (let made = 1; made <= seconds; made++) {
        onSecond(made)
        yield Buffer.from(second.buffer)
      }
    },
  }
}

function encode(sound: Sound, name: string, signal = never): Readable {
  return encodeSpeech({ tool, directory, format: speechFormats.get(name)!, speed: 1 }, sound, signal)
}

test('no sample is lost or changed', async () => {
  const bytes = await bytesOf(encode(tone(3), 'pcm'))
  const made = Buffer.concat(await Readable.from(tone(3).samples(never)).toArray())
  expect(bytes.equals(made)).toBe(true)
})

test.each(['pcm', 'mp3'])('a reader that stops reading pauses the generation of %s', async (name) => {
  let made = 0
  const stream = encode(
    tone(300, (second) => (made = second)),
    name,
  )
  await once(stream, 'readable')
  // Meanwhile the first stream could have been completed, had it not been paused.
  await bytesOf(encode(tone(300), name))
  const held = made
  expect(held).toBeLessThan(60)
  await bytesOf(encode(tone(60), name))
  expect(made).toBe(held)
  stream.destroy()
  await once(stream, 'close')
})

test.each(['the signal', 'its reader'])('encoding ends with %s', async (cause) => {
  const stop = new AbortController()
  let isOver = false
  const endless: Sound = {
    samplesPerSecond: 24_000,
    async *samples(signal) {
      yield Buffer.alloc(96_000)
      await once(signal, 'abort')
      isOver = true
    },
  }
  const stream = encode(endless, 'wav', stop.signal)
  stream.on('error', () => {})
  await once(stream, 'readable')
  expect(childPrograms()).toContain('ffmpeg')
  if (cause === 'the signal') stop.abort()
  else stream.destroy()
  await expect.poll(() => isOver).toBe(true)
  await expect.poll(() => childPrograms()).toEqual([])
})

test('an error of the sound fails the stream instead of ending it', async () => {
  const broken: Sound = {
    samplesPerSecond: 24_000,
    async *samples() {
      yield Buffer.alloc(48_000)
      throw new Error('hoarse')
    },
  }
  const parts: Buffer[] = []
  const reading = (async () => {
    for await (const part of encode(broken, 'pcm') as AsyncIterable<Buffer>) parts.push(part)
  })()
  await expect(reading).rejects.toThrow('hoarse')
  expect(Buffer.concat(parts).length).toBeGreaterThan(0)
})
