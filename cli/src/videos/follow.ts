/** Follows a video with a progress line. Ctrl-C leaves it running, or on a terminal asks what to do. */
import { isKinoraError, type FinishedVideo, type Kinora, type VideoProgress } from '@kinora/client'

import { exitCodes } from '../frame/exit-code.ts'
import { canAsk, choose } from '../terminal/ask.ts'
import { createTaskProgress } from '../terminal/task-progress.ts'

const interrupted = (text: string) => Object.assign(new Error(text), { exitCode: exitCodes.interrupted })

const leftRunning = (id: string) =>
  interrupted(`The video is still being made. Follow it with: kinora video watch ${id}`)

type Decision = 'cancel' | 'leave' | 'wait'

const askWhatToDo = async (): Promise<Decision> =>
  (await choose<Decision>('The video is still being made.', [
    { value: 'wait', label: 'Keep waiting' },
    { value: 'leave', label: 'Leave it running, and stop waiting' },
    { value: 'cancel', label: 'Cancel it; nothing is charged' },
  ])) ?? 'leave'

/** The finished video. Throws if it failed, or if the person stopped waiting. */
export const followVideo = async (
  kinora: Kinora,
  id: string,
  onProgress: ((video: VideoProgress) => void) | undefined,
): Promise<FinishedVideo> => {
  const progress = onProgress === undefined ? createTaskProgress() : undefined
  const stop = new AbortController()
  let isAsking = false
  let isCancelled = false
  const decide = async () => {
    if (isAsking) return
    isAsking = true
    progress?.pause()
    const decision = canAsk() ? await askWhatToDo() : 'leave'
    isAsking = false
    if (decision === 'leave') stop.abort(leftRunning(id))
    if (decision === 'cancel') {
      isCancelled = true
      await kinora.videos.cancel(id)
    }
    progress?.resume()
  }
  const onInterrupt = () => {
    decide().catch((error: unknown) => stop.abort(error))
  }
  process.on('SIGINT', onInterrupt)
  try {
    return await kinora.videos.watch(id, {
      signal: stop.signal,
      onProgress: (video) => {
        onProgress?.(video)
        progress?.show(video)
      },
    })
  } catch (error) {
    if (isCancelled && isKinoraError(error, 'task_cancelled')) {
      throw interrupted('The video is cancelled. Nothing is charged.')
    }
    throw error
  } finally {
    process.off('SIGINT', onInterrupt)
    progress?.end()
  }
}
