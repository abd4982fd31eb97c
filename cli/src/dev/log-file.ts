/** The log files of `dev`. Each run appends to them, and their size is limited. */
import { closeSync, copyFileSync, openSync, readSync, rmSync, statSync, truncateSync } from 'node:fs'

const logBytesMax = 10 * 1024 * 1024

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Copies a log that is too large to `<file>.1` and truncates it. Writers have it open for appending, so they continue
 * in the truncated file. If the disk has no space for the copy, the old lines are dropped.
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

/** The last lines written after the first `sinceBytes` bytes. Error messages of a failed start contain them. */
export function lastLines(file: string, sinceBytes: number, count = 15): string {
  const size = sizeOf(file)
  // The log was truncated in the meantime.
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
