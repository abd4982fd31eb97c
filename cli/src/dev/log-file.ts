/** The log files of `dev`. Runs append to them, and each is bounded. */
import { closeSync, copyFileSync, openSync, readSync, rmSync, statSync, truncateSync } from 'node:fs'

const logBytesMax = 10 * 1024 * 1024

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Moves a log that has grown large to `<file>.1`, over the one that was there. Its writers have it open for appending, so
 * they go on in the emptied file. Where there is no space for a copy, the old lines are lost; the program goes on.
 */
export function boundLog(file: string): void {
  if (sizeOf(file) <= logBytesMax) return
  try {
    copyFileSync(file, `${file}.1`)
  } catch {
    rmSync(`${file}.1`, { force: true })
  }
  truncateSync(file)
}

/** The end of what was written since the log had this many bytes, for the message of a failed start. */
export function lastLines(file: string, sinceBytes: number, count = 15): string {
  const size = sizeOf(file)
  // It was moved aside in between.
  const from = sinceBytes > size ? 0 : sinceBytes
  const bytes = Buffer.alloc(size - from)
  try {
    const descriptor = openSync(file, 'r')
    readSync(descriptor, bytes, 0, bytes.length, from)
    closeSync(descriptor)
  } catch {
    return ''
  }
  return bytes.toString('utf8').trimEnd().split('\n').slice(-count).join('\n')
}
