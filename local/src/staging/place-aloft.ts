import type { FilmShape } from '../drawing/film-shape.ts'
import { footLine } from '../scenes/ground.ts'
import type { SceneSubject, ScenePlan } from '../scenes/scene-plan.ts'
import { horizonLine } from '../scenes/sky.ts'
import { bridgeDeck } from '../subjects/buildings.ts'
import type { SubjectName } from '../subjects/subject-table.ts'
import { boxOf, inFront, widthOf, type Stage, type PartialPlacement } from './placement.ts'

export function across({ plan, shape }: Stage, subject: SceneSubject): PartialPlacement {
  const middle = shape.width / 2
  if (subject.name === 'rainbow') {
    return { subject, x: middle, y: shape.height * 0.7, scale: shape.unit, behindLayer: 0 }
  }
  return {
    subject,
    x: middle,
    y: bridgeFoot(plan, shape),
    scale: bridgeScale * shape.unit,
    behindLayer: plan.surface === undefined ? 2 : 3,
  }
}

const bridgeScale = 1.15

function bridgeFoot(plan: ScenePlan, shape: FilmShape): number {
  return plan.biome === 'water' ? horizonLine(plan, shape) + shape.height * 0.13 : footLine(shape)
}

/** The y coordinate of subjects on the bridge. */
export function deckLine(plan: ScenePlan, shape: FilmShape): number {
  return bridgeFoot(plan, shape) - (bridgeDeck * bridgeScale - 2) * shape.unit
}

const skyScale: Partial<Record<SubjectName, number>> = {
  balloon: 1.5,
  rocket: 1.05,
  kite: 1,
  plane: 1.25,
  dragon: 1.5,
  flock: 1,
  bird: 1.35,
  fireworks: 1.2,
}

export function inTheSky(
  stage: Stage,
  subject: SceneSubject,
  index: number,
  count: number,
): PartialPlacement {
  const { plan, shape, random, light, heading, size } = stage
  const { width, height, unit } = shape
  // Away from the sun or moon, so that neither hides the other.
  const side = light.x < width / 2 ? random.between(0.6, 0.7) : random.between(0.3, 0.4)
  const x = count > 1 ? width * (0.28 + (0.44 * index) / (count - 1)) : width * side
  if (subject.name === 'lightning') {
    const reach = height * 0.62
    return { subject, x: width * 0.62, y: reach, scale: reach / 350, behindLayer: 1 }
  }
  const wide = (width * 0.8) / widthOf(subject)
  const scale = Math.min(wide, (skyScale[subject.name] ?? 1.15) * unit * size * (subject.count > 1 ? 0.8 : 1))
  const behindLayer = plan.surface === undefined ? 3 : inFront
  if (subject.name === 'rocket') {
    const y = height * (plan.biome === 'space' ? 0.62 : 0.58)
    return { subject, x, y, scale, behindLayer, sway: 10 * unit, swayFrames: 90 }
  }
  const drift = subject.going ? heading * Math.min(shape.frameCount * unit, width * 0.24) : 0
  const swayFrames = subject.name === 'balloon' ? 200 : 70
  const y = height * random.between(0.3, 0.36) + (index % 2) * height * 0.06
  const start = Math.max(width * 0.16, Math.min(width * 0.84, x)) - drift / 2
  return { subject, x: start, y, scale, behindLayer, sway: 7 * unit, swayFrames, travel: drift }
}

export function swimming(
  { shape, random, heading, size }: Stage,
  subject: SceneSubject,
  index: number,
): PartialPlacement {
  const { width, height, unit } = shape
  const scale = Math.min((width * 0.84) / widthOf(subject), (subject.count > 1 ? 1.2 : 1.9) * unit * size)
  const travel = heading * Math.min(shape.frameCount * unit, width * 0.2)
  return {
    ...{
      subject,
      x: width * random.between(0.44, 0.56) - travel / 2,
      y: height * (0.4 + 0.16 * index),
      scale,
    },
    ...{ travel, sway: 10 * unit, swayFrames: 90 },
  }
}

/** Ground subjects float in space. */
export function floating(
  { shape, random, size }: Stage,
  subject: SceneSubject,
  index: number,
): PartialPlacement {
  const { width, height, unit } = shape
  const { top, bottom } = boxOf(subject)
  const scale = Math.min((width * 0.6) / widthOf(subject), (230 / (bottom - top)) * unit * size * 1.1)
  const middle = ((top + bottom) / 2) * scale
  return {
    ...{ subject, x: width * (0.28 + 0.3 * index), y: height * random.between(0.46, 0.52) - middle, scale },
    ...{ sway: 9 * unit, swayFrames: 170, behindLayer: 3 },
  }
}

export function closeAbove({ shape, random, size }: Stage, subject: SceneSubject): PartialPlacement {
  const { width, height, unit } = shape
  const owl = subject.name === 'owl'
  const scale = Math.min((width * 0.8) / widthOf(subject), (owl ? 1.7 : 0.95) * unit * size)
  return {
    ...{ subject, x: width * random.between(0.54, 0.64), y: height * (owl ? 0.62 : 0.46), scale },
    ...{ sway: owl ? 0 : 16 * unit, swayFrames: 60 },
  }
}
