import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import { encodeFilm } from './encode.ts'
import { finishFilm } from './film-finish.ts'
import { filmShape } from './film-shape.ts'
import type { JobRequest } from './job.ts'
import { filmLandscape } from './landscape-film.ts'
import { readPrompt } from './magic-prompt.ts'
import { composeMusic } from './music.ts'
import { filmReferences } from './reference-film.ts'
import type { FfmpegTool } from './sandbox.ts'
import { planScene } from './scene-plan.ts'

export interface RenderTask {
  request: JobRequest
  /** Paths of the pictures sent along. */
  references: string[]
  /** An empty folder for everything made on the way. */
  workDirectory: string
  tool: FfmpegTool
  threads: number
}

/** The film inside the work folder once a render is through. */
export const filmFileName = 'film.mp4'

export async function renderFilm(task: RenderTask, onProgress: (percent: number) => void): Promise<void> {
  const { request, workDirectory } = task
  const { text } = readPrompt(request.prompt)
  const shape = filmShape(request)
  const plan = planScene({ prompt: text, style: request.style, seed: request.seed })
  const graph =
    task.references.length > 0
      ? await filmReferences(plan, shape, task.references, workDirectory)
      : await filmLandscape(plan, shape, workDirectory)
  await Promise.all([
    finishFilm(graph, { shape, text, watermark: request.watermark, directory: workDirectory }),
    writeFile(path.join(workDirectory, 'music.s16'), composeMusic(plan, shape.seconds)),
  ])
  await encodeFilm({
    tool: task.tool,
    directory: workDirectory,
    shape,
    graph,
    musicFileName: 'music.s16',
    outputFileName: filmFileName,
    threads: task.threads,
    onFrame: (frame) => onProgress(Math.min(99, Math.floor((100 * frame) / shape.frameCount))),
  })
}
