import type { Box } from '../drawing/film-graph.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import type { Random } from '../drawing/random.ts'
import type { Light } from '../scenes/celestial.ts'
import type { SceneSubject, ScenePlan } from '../scenes/scene-plan.ts'
import { subjects } from '../subjects/subject-table.ts'

/** The position and movement of a subject, in pixels of the film. */
export interface Placement {
  subject: SceneSubject
  /** Its origin: feet or centre. */
  x: number
  y: number
  scale: number
  mirrored: boolean
  /** Its bounding box at the start. */
  box: Box
  /** The distance that it moves during the film, positive to the right. */
  travel: number
  /** The amplitude of its vertical movement, and its period in frames. */
  sway: number
  swayFrames: number
  behindLayer: number
  /** Whether several of a kind spread like flowers in a vase instead of standing next to each other. */
  fanned: boolean
}

/** Larger than the index of any layer. */
export const inFront = 9

export interface Stage {
  plan: ScenePlan
  shape: FilmShape
  random: Random
  light: Light
  /** -1 to the left, 1 to the right. */
  heading: number
  /** A factor below 1 in crowded films. */
  size: number
}

export type PartialPlacement = Pick<Placement, 'subject' | 'x' | 'y' | 'scale'> & Partial<Placement>

export function boxOf(subject: SceneSubject): { left: number; top: number; right: number; bottom: number } {
  const [left, top, right, bottom] = subjects[subject.name].box
  const offsets = Array.from({ length: subject.count }, (_, index) => groupOffset(subject, index))
  const side = Math.max(-left, right)
  return {
    left: Math.min(...offsets.map(({ x }) => x)) - side,
    right: Math.max(...offsets.map(({ x }) => x)) + side,
    top: top + Math.min(...offsets.map(({ y }) => y)),
    bottom: bottom + Math.max(...offsets.map(({ y }) => y)),
  }
}

/** The offset of one of several of a kind from their centre. */
export function groupOffset({ name, count }: SceneSubject, index: number): { x: number; y: number } {
  const [left, , right] = subjects[name].box
  const { stance } = subjects[name]
  const apart =
    (right - left) * (stance === 'swim' || stance === 'sky' ? 0.9 : name === 'toyBalloon' ? 0.62 : 0.9)
  const uneven = stance === 'swim' || stance === 'sky' ? 52 : stance === 'ground' || stance === 'back' ? 7 : 0
  return {
    x: (index - (count - 1) / 2) * apart,
    y: count === 1 ? 0 : uneven * (index % 2 === 0 ? -0.5 : 0.5),
  }
}

/** The angle of one of several flowers in a vase. */
export function fanDegrees({ count }: SceneSubject, index: number): number {
  return (index - (count - 1) / 2) * (count > 3 ? 15 : 19)
}

export function fanBox({ name }: SceneSubject): ReturnType<typeof boxOf> {
  const [, top, right, bottom] = subjects[name].box
  const side = right - top * 0.7
  return { left: -side, top: top - 8, right: side, bottom: bottom + 8 }
}

export function widthOf(subject: SceneSubject): number {
  const { left, right } = boxOf(subject)
  return right - left
}
