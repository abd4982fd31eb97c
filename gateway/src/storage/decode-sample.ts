/**
 * Decodes a few frames of a video at its beginning, middle and end, in the sandbox. Starting ffmpeg takes a tenth of a second
 * of processor time, more than the rest of a task, so all decodes together have a budget. Results beyond it are not decoded.
 */
import { concurrencyLimitPerKey } from '../platform/concurrency-limit.ts'
import type { Log } from '../platform/log.ts'
import type { MediaPrograms } from './media-programs.ts'
import { createSandbox, isInvalidFileError, onlyVideoFiles } from './sandbox.ts'

/** Whether a video is damaged. False also if it was not decoded. */
export type IsDamaged = (path: string, durationMs: number) => Promise<boolean>

const limits = { timeoutMs: 10_000, outputBytesMax: 65_536 }
const framesEach = 12
const programsMax = 2
/** The last part starts at the last key frame before this time. */
const beforeEndMs = 50
/** What the budget may save up while nothing is decoded. */
const savedMsMax = 5_000
/** Other errors, such as a codec that this ffmpeg cannot decode, say nothing about the file. */
const damage = /Invalid data found when processing input|corrupt decoded frame/

/** Seeking is to the key frame before a time, from which ffmpeg would otherwise decode up to that time. */
const parameters = (path: string, durationMs: number) => {
  const startsMs = [0, durationMs / 2, Math.max(0, durationMs - beforeEndMs)]
  return [
    ...['-nostdin', '-v', 'error', '-xerror'],
    ...startsMs.flatMap((startMs) => [
      ...[...onlyVideoFiles, '-noaccurate_seek', '-ss', (startMs / 1000).toFixed(3)],
      ...['-threads', '1', '-i', path],
    ]),
    ...startsMs.flatMap((_, index) => [
      ...['-map', `${index}:v:0`, '-frames:v', String(framesEach), '-f', 'null', '-'],
    ]),
  ]
}

/** `percent` of one processor is the budget on average. */
export const createIsDamaged = (programs: MediaPrograms, percent: number, log: Log): IsDamaged => {
  const runOnFile = createSandbox(programs.ffmpegPath, programs)
  const takeTurn = concurrencyLimitPerKey(programsMax)
  let savedMs = savedMsMax
  let savedAtMs = performance.now()
  const spend = (ms: number) => {
    const nowMs = performance.now()
    savedMs = Math.min(savedMsMax, savedMs + ((nowMs - savedAtMs) * percent) / 100) - ms
    savedAtMs = nowMs
    return savedMs
  }
  return async (path, durationMs) => {
    if (percent === 0 || spend(0) <= 0) return false
    const leave = await takeTurn('decode')
    const startedMs = performance.now()
    try {
      // Others may have used it up meanwhile.
      if (spend(0) <= 0) return false
      await runOnFile(path, (inside) => parameters(inside, durationMs), limits)
      return false
    } catch (error) {
      if (isInvalidFileError(error) && damage.test(String(error))) return true
      // The tables and packets were checked, so the video is accepted.
      log.warn({ err: error }, 'video.not-decoded')
      return false
    } finally {
      spend(performance.now() - startedMs)
      leave()
    }
  }
}
