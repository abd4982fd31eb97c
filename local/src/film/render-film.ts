import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import type { FilmGraph } from '../drawing/film-graph.ts'
import { filmShape, framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import type { FfmpegTool } from '../ffmpeg/sandbox.ts'
import type { JobFiles, JobRequest } from '../jobs/job.ts'
import { parsePrompt } from '../jobs/simulation.ts'
import { planScene, type ScenePlan } from '../scenes/scene-plan.ts'
import { addSprite } from '../scenes/sprite.ts'
import { composeMusic } from '../sound/music.ts'
import { mixSound } from '../sound/sound.ts'
import { captionText, paintCaption } from './caption.ts'
import { addCharacters } from './character.ts'
import { paintElements } from './components-film.ts'
import { encodeFilm } from './encode.ts'
import { captionFileName, finishFilm } from './film-finish.ts'
import { filmFrames } from './frames-film.ts'
import { decodeImage } from './image.ts'
import { filmLandscape } from './landscape-film.ts'
import { filmReferences } from './reference-film.ts'
import { filmRemix } from './remix-film.ts'
import { readSoundtrack } from './soundtrack.ts'
import { cutSource, type SourceClip } from './source-clip.ts'
import { characterBand } from './text-areas.ts'
import { filmTitleCard } from './title-card.ts'
import { treatColours } from './treatment-filter.ts'

export interface RenderTask {
  request: JobRequest
  /** Paths of the uploaded files. */
  files: JobFiles
  /** An empty folder for intermediate files and the film. */
  workDirectory: string
  tool: FfmpegTool
  threads: number
}

/** The name of the finished film in the work folder. */
export const filmFileName = 'film.mp4'
const soundFileName = 'sound.s16'

/** Decodes the uploaded images one by one, which bounds memory. Returns the files with the decoded images in their place. */
async function decodeImages({ files, workDirectory, tool }: RenderTask): Promise<JobFiles> {
  const decodeAll = async (use: 'reference' | 'character', uploaded: string[]) => {
    const decoded = uploaded.map((_, index) => path.join(workDirectory, `decoded-${use}-${index}.png`))
    for (const [index, file] of uploaded.entries()) await decodeImage(tool, file, use, decoded[index]!)
    return decoded
  }
  return {
    ...files,
    references: await decodeAll('reference', files.references),
    characters: await decodeAll('character', files.characters),
  }
}

export async function renderFilm(given: RenderTask, onProgress: (percent: number) => void): Promise<void> {
  const task = { ...given, files: await decodeImages(given) }
  const { request, files, workDirectory: directory, tool, threads } = task
  const { text } = parsePrompt(request.prompt)
  const shape = filmShape(request)
  const plan = planScene({ prompt: text, style: request.style, seed: request.seed })
  const clip =
    files.source === undefined
      ? undefined
      : await cutSource({ source: files.source, shape, directory, tool, threads })
  const title = titleOf(task, plan, text)
  const graph =
    title === undefined
      ? await filmImage(task, plan, shape, clip)
      : await filmTitleCard(plan, shape, title, directory)
  const hasElements =
    files.references.length > 0 && (clip !== undefined || request.referenceMode === 'components')
  // An upright film is watched on a phone, whose player covers its lower part.
  const hasCaption = title === undefined && shape.height <= shape.width
  const captioned = hasCaption ? captionText(text) : ''
  const caption =
    captioned === '' ? undefined : await paintCaption(captioned, shape, path.join(directory, captionFileName))
  await addCharacters(graph, {
    plan,
    shape,
    directory,
    characters: files.characters.map((image, index) => ({
      image,
      userName: request.characters?.[index] ?? '',
    })),
    band: characterBand(shape, { caption, watermark: request.watermark, hasElements }),
  })
  const inFrames = !hasElements && files.references.length > 0 && request.referenceMode === 'frames'
  if (plan.treatment !== undefined && !inFrames) treatColours(graph, plan.treatment)
  const hasSound = request.sound !== false
  const soundtrack =
    files.soundtrack === undefined || !hasSound
      ? undefined
      : await readSoundtrack({ file: files.soundtrack, seconds: shape.seconds, directory, tool })
  const makeSound = () => {
    const music = composeMusic(plan, shape.seconds)
    if (soundtrack !== undefined) return mixSound(music, soundtrack, shape.seconds)
    return clip === undefined ? music : mixSound(music, clip.sound, clip.frameCount / framesPerSecond)
  }
  await Promise.all([
    finishFilm(graph, {
      shape,
      caption,
      watermark: request.watermark,
      // A source has its own edges, which a second vignette would darken.
      vignette: !inFrames && (clip === undefined || plan.named.light),
      directory,
      exactStart: inFrames,
      exactEnd: inFrames && files.references.length > 1,
    }),
    hasSound ? writeFile(path.join(directory, soundFileName), makeSound()) : undefined,
  ])
  await encodeFilm({
    tool,
    directory,
    shape,
    graph,
    soundFileName: hasSound ? soundFileName : undefined,
    outputFileName: filmFileName,
    threads,
    onFrame: (frame) => onProgress(Math.min(99, Math.floor((100 * frame) / shape.frameCount))),
  })
}

/** The title, if the film shows the prompt instead of a scene. */
function titleOf({ files }: RenderTask, plan: ScenePlan, text: string): string | undefined {
  const hasImages = files.source !== undefined || files.references.length > 0 || files.characters.length > 0
  const title = captionText(text)
  return plan.isTitle && !hasImages && title !== '' ? title : undefined
}

async function filmImage(
  task: RenderTask,
  plan: ScenePlan,
  shape: FilmShape,
  clip: SourceClip | undefined,
): Promise<FilmGraph> {
  const { references } = task.files
  const directory = task.workDirectory
  if (clip !== undefined) {
    const graph = await filmRemix(plan, shape, clip, directory)
    for (const element of await paintElements(plan, shape, task.files, directory)) addSprite(graph, element)
    return graph
  }
  if (references.length === 0) {
    return await filmLandscape(plan, shape, directory, [], task.files.characters.length > 0)
  }
  const { referenceMode } = task.request
  if (referenceMode === 'frames') return await filmFrames(plan, shape, references, directory)
  if (referenceMode === undefined) return await filmReferences(plan, shape, references, directory)
  return await filmLandscape(plan, shape, directory, await paintElements(plan, shape, task.files, directory))
}
