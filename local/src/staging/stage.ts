import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import sharp from 'sharp'

import { evenCeil, evenFloor, framesPerSecond as filmRate, type FilmShape } from '../drawing/film-shape.ts'
import type { Light } from '../scenes/celestial.ts'
import { litIn, type SceneSubject, type ScenePlan } from '../scenes/scene-plan.ts'
import type { Sprite } from '../scenes/sprite.ts'
import { subjects } from '../subjects/subject-table.ts'
import { placeSubjects } from './place-subjects.ts'
import { fanDegrees, groupOffset, type Placement } from './placement.ts'

/** An animated subject. */
export interface StagedSubject extends Sprite {
  /** The index of the layer in front of it; larger than the last index if no layer covers it. */
  behindLayer: number
}

/** The duration of two steps, in seconds. */
const strideSeconds = 1

/** Paints all frames of each subject, farthest first. */
export async function paintSubjects(
  plan: ScenePlan,
  shape: FilmShape,
  light: Light,
  job: { directory: string; crowded: boolean },
): Promise<StagedSubject[]> {
  const placements = placeSubjects(plan, shape, light, job.crowded)
  return await Promise.all(
    placements.map((placement, index) => paintSubject(plan, shape, placement, index, job.directory)),
  )
}

async function paintSubject(
  plan: ScenePlan,
  shape: FilmShape,
  placement: Placement,
  index: number,
  directory: string,
): Promise<StagedSubject> {
  const { subject, box } = placement
  const { frameCount, framesPerSecond } = loopOf(subject)
  const width = Math.max(2, evenCeil(box.width))
  const height = Math.max(2, evenCeil(box.height))
  const fileName = `subject-${index}.rgba`
  const images = await Promise.all(
    Array.from({ length: frameCount }, async (_, frame) => {
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><g transform="translate(${(placement.x - box.x).toFixed(1)} ${(placement.y - box.y).toFixed(1)}) scale(${placement.scale.toFixed(4)})">${groupArt(plan, shape, placement, frame / frameCount)}</g></svg>`
      return await sharp(Buffer.from(svg)).ensureAlpha().raw().toBuffer()
    }),
  )
  await writeFile(path.join(directory, fileName), Buffer.concat(images))
  const x = evenFloor(box.x)
  const y = evenFloor(box.y)
  const step = placement.travel / shape.frameCount
  return {
    behindLayer: placement.behindLayer,
    fileName,
    loop: { width, height, frameCount, framesPerSecond },
    x: `${x}+round(n*${step.toFixed(5)})`,
    y: `${y}+round(${placement.sway.toFixed(1)}*sin(n*${((2 * Math.PI) / placement.swayFrames).toFixed(4)}))`,
  }
}

/** Half the frame rate is enough for slow motions and costs half. */
function loopOf({ name, going }: SceneSubject): { frameCount: number; framesPerSecond: number } {
  const subject = subjects[name]
  const seconds = going && subject.goes === 'on-request' ? strideSeconds : subject.loop
  if (seconds === 0) return { frameCount: 1, framesPerSecond: filmRate }
  const rate = seconds < 0.6 ? filmRate : filmRate / 2
  return { frameCount: Math.max(2, Math.round(seconds * rate)), framesPerSecond: rate }
}

/** Draws all of a kind next to each other, each with a different phase. */
function groupArt(plan: ScenePlan, shape: FilmShape, placement: Placement, phase: number): string {
  const { subject, mirrored, scale } = placement
  const { draw } = subjects[subject.name]
  const lit = litIn(plan)
  let art = ''
  for (let index = 0; index < subject.count; index++) {
    const { x, y } = placement.fanned ? { x: 0, y: 0 } : groupOffset(subject, index)
    const lean = placement.fanned ? ` rotate(${fanDegrees(subject, index).toFixed(1)})` : ''
    const drawing = draw({
      ...{ phase: (phase + index * 0.37) % 1, index, lit, going: subject.going, word: subject.word },
      colour: subject.colours[index % subject.colours.length]!,
      palette: plan.palette,
      span: shape.width / scale,
    })
    art += `<g transform="translate(${x.toFixed(1)} ${y.toFixed(1)})${lean}${mirrored ? ' scale(-1 1)' : ''}">${drawing}</g>`
  }
  return art
}
