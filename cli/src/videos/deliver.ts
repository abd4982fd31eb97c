/** What happens with a finished video: it is saved, shown, opened, or its link is printed. */
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { styleText } from 'node:util'

import type { FinishedVideo, Kinora, MediaFile } from '@kinora/client'

import { formatMoney, formatSeconds } from '../terminal/format.ts'
import { canOpen, openFile, openLink } from '../terminal/open-file.ts'
import { drawPicture, findPictureProtocol } from '../terminal/picture.ts'
import { isTerminal, print, printJson, tell } from '../terminal/print.ts'

export interface ResultInput {
  output: string | undefined
  open: boolean
  noOpen: boolean
  json: boolean
}

/** `-` is stdout. */
export const saveFile = async (file: MediaFile, output: string): Promise<void> => {
  if (output !== '-') return file.save(output)
  await pipeline(file.stream(), process.stdout)
}

const convertToPng = async (jpeg: Buffer): Promise<Buffer> => {
  const { default: sharp } = await import('sharp')
  return sharp(jpeg).png().toBuffer()
}

/** Shows a frame where the terminal can. Returns whether it did. */
const showFrame = async (kinora: Kinora, id: string): Promise<boolean> => {
  const protocol = findPictureProtocol()
  if (protocol === undefined) return false
  try {
    const thumbnail = await kinora.videos.content(id, { variant: 'thumbnail' })
    process.stderr.write(await drawPicture(Buffer.from(await thumbnail.bytes()), protocol, convertToPng))
    return true
  } catch {
    // The video itself is there; a frame is only nice to see.
    return false
  }
}

/** The cost, which is not worth a failure. */
const readCost = async (kinora: Kinora, id: string): Promise<string[]> => {
  try {
    const { captured_micros: micros, currency } = await kinora.receipts.get(id)
    return micros === null ? [] : [formatMoney(micros, currency)]
  } catch {
    return []
  }
}

const describeReady = async (kinora: Kinora, video: FinishedVideo, startedMs: number | undefined) =>
  [
    `${styleText('green', '✓', { stream: process.stderr })} ${video.model} · ${video.seconds} s · ${video.size}`,
    ...(startedMs === undefined ? [] : [`made in ${formatSeconds((performance.now() - startedMs) / 1000)}`]),
    ...(await readCost(kinora, video.id)),
  ].join(' · ')

/** `startedMs` is when the wait began; undefined if it did not begin with the creation. */
export const deliverVideo = async (
  kinora: Kinora,
  video: FinishedVideo,
  { output, open, noOpen, json }: ResultInput,
  startedMs?: number,
): Promise<void> => {
  if (output !== undefined) await saveFile(await kinora.videos.content(video.id), output)
  if (json) {
    if (output !== '-') printJson(video)
    return
  }
  if (process.stderr.isTTY) tell(await describeReady(kinora, video, startedMs))
  if (output === '-') return
  print(output ?? video.url)
  if (noOpen) return
  const isShown = !open && isTerminal() && (await showFrame(kinora, video.id))
  // A file that is saved for later is not opened unless it is asked for.
  const shouldOpen = open || (!isShown && output === undefined && isTerminal() && canOpen())
  if (!shouldOpen || (await (output === undefined ? openLink(video.url) : openFile(output)))) return
  if (open) tell(`No program was found that opens ${output === undefined ? 'the link' : basename(output)}.`)
}
