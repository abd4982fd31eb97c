/** Reads what processes append to a log file. Polls, because notifications about files are not reliable everywhere. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'

const chunkBytes = 64 * 1024
/** Of a file that grows faster than it is read, the older lines are left out. */
const behindBytesMax = 4 * 1024 * 1024

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

export interface FollowedLog {
  /** Passes on the complete lines that were appended since the last call. */
  read: () => void
}

export const followLog = (file: string, onLine: (line: string) => void): FollowedLog => {
  const chunk = Buffer.alloc(chunkBytes)
  let position = sizeOf(file)
  let decoder = new StringDecoder('utf8')
  let rest = ''
  let skipsRest = false

  const startAt = (byte: number, isInsideLine: boolean) => {
    position = byte
    decoder = new StringDecoder('utf8')
    rest = ''
    skipsRest = isInsideLine
  }
  const take = (text: string) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (skipsRest) skipsRest = false
      else if (line !== '') onLine(line)
    }
    // A line without an end must not grow without limit.
    if (rest.length <= behindBytesMax) return
    rest = ''
    skipsRest = true
  }
  return {
    read() {
      const size = sizeOf(file)
      // The file was truncated, because it was too large.
      if (size < position) startAt(0, false)
      if (size === position) return
      if (size - position > behindBytesMax) startAt(size - behindBytesMax, true)
      const descriptor = openSync(file, 'r')
      try {
        while (position < size) {
          const bytes = readSync(descriptor, chunk, 0, Math.min(chunkBytes, size - position), position)
          if (bytes === 0) break
          position += bytes
          take(decoder.write(chunk.subarray(0, bytes)))
        }
      } finally {
        closeSync(descriptor)
      }
    },
  }
}
