/**
 * Frees the buffers of large bodies before they cause a full garbage collection. V8 starts a full collection for about
 * every 64 MB of buffers outside its heap, live or not, and it pauses the process for 10 to 20 ms. A minor collection
 * takes about 1 ms and frees the buffers that were processed.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const collectEveryBytes = 16 * 1_048_576

type Collect = (options: { type: 'minor' }) => void

const exposeCollect = (): Collect | undefined => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('globalThis.gc') as Collect | undefined
}

let collect: Collect | undefined
let passedBytes = 0

/** Records that a buffer of this size was processed and is no longer needed. */
export const bufferPassed = (sizeBytes: number): void => {
  passedBytes += sizeBytes
  if (passedBytes < collectEveryBytes) return
  passedBytes = 0
  collect ??= exposeCollect()
  collect?.({ type: 'minor' })
}
