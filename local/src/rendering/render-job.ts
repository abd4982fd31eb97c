import sharp from 'sharp'

import { placeOf, RenderFailure } from '../ffmpeg/render-failure.ts'
import { stopFfmpeg } from '../ffmpeg/run-ffmpeg.ts'
import { renderFilm, type RenderTask } from '../film/render-film.ts'

/**
 * The child process of one render. It receives its task as the first message, sends progress, and exits after sending its
 * outcome. It also exits when the server does.
 */
export type RenderMessage =
  | { type: 'progress'; percent: number }
  | { type: 'rendered' }
  | { type: 'failed'; code: string; message: string; detail: string | undefined }

function send(message: RenderMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}

async function render(task: RenderTask): Promise<void> {
  let lastPercent = 0
  try {
    await renderFilm(task, (percent) => {
      if (percent === lastPercent) return
      lastPercent = percent
      void send({ type: 'progress', percent })
    })
    await send({ type: 'rendered' })
  } catch (error) {
    await send(
      error instanceof RenderFailure
        ? { type: 'failed', code: error.code, message: error.message, detail: error.detail }
        : {
            type: 'failed',
            code: 'upstream_error',
            message: 'The video could not be rendered.',
            detail: placeOf(error),
          },
    )
  }
  process.exit(0)
}

process.once('SIGTERM', () => void stopFfmpeg().then(() => process.exit(1)))
process.on('disconnect', () => process.exit(1))
sharp.cache(false)
process.once('message', (task) => void render(task as RenderTask))
