/**
 * Frees the buffers of large bodies before they cause a full garbage collection. V8 starts one for every 64 MB or so of
 * buffers outside its heap, dead or alive, and it stops the process for 10 to 20 ms. A minor collection, which takes
 * about one, frees those that have passed through.
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

/** Says that a buffer of this size has passed through and is not needed any more. */
export const bufferPassed = (sizeBytes: number): void => {
  passedBytes += sizeBytes
  if (passedBytes < collectEveryBytes) return
  passedBytes = 0
  collect ??= exposeCollect()
  collect?.({ type: 'minor' })
}
