import { footLine } from '../scenes/ground.ts'
import type { SceneSubject, ScenePlan } from '../scenes/scene-plan.ts'
import { vaseMouth } from '../subjects/indoor-objects.ts'
import { kiteString } from '../subjects/sky-objects.ts'
import { subjects, type SubjectName } from '../subjects/subject-table.ts'
import { ridesABoat } from './place-afloat.ts'
import { deckLine } from './place-aloft.ts'
import { boxOf, groupOffset, inFront, widthOf, type Stage, type PartialPlacement } from './placement.ts'

const carriers = new Set<SubjectName>(['person', 'child'])

/** Whether a person or child holds it. Otherwise a kite flies, and other subjects stand on the ground. */
export function isHeld(plan: ScenePlan, { name }: SceneSubject): boolean {
  return (
    (name === 'kite' || subjects[name].stance === 'held') &&
    plan.subjects.some((one) => carriers.has(one.name))
  )
}

/** The position of the raised hand of a subject that faces left. */
const hands: Partial<Record<SubjectName, { x: number; y: number }>> = {
  person: { x: 68, y: -171 },
  child: { x: 47, y: -101 },
}

/** Rows on the ground: buildings and trees behind, the others in front, and the subjects that they hold. */
export function standing(stage: Stage): PartialPlacement[] {
  const { plan, shape } = stage
  const { unit } = shape
  const stanceOf = ({ name }: SceneSubject) => subjects[name].stance
  const carrier = plan.subjects.find(({ name }) => carriers.has(name))
  const vase = plan.subjects.find(({ name }) => name === 'vase')
  const inVase = ({ name }: SceneSubject) => vase !== undefined && (name === 'flower' || name === 'rose')
  const grounded = plan.subjects.filter(
    (subject) =>
      /^(?:ground|back|road|rails|table|held)$/.test(stanceOf(subject)) &&
      !isHeld(plan, subject) &&
      !inVase(subject) &&
      !ridesABoat(stage, subject),
  )
  const behind = grounded.filter((subject) => stanceOf(subject) === 'back')
  const before = grounded.filter((subject) => stanceOf(subject) !== 'back')
  const parted = behind.length > 0 && before.length > 0
  const placed = [
    ...row(stage, behind, {
      middle: parted ? 0.3 : 0.5,
      share: parted ? 0.54 : 0.86,
      down: parted ? -24 : 0,
    }),
    ...row(stage, before, { middle: parted ? 0.66 : 0.5, share: parted ? 0.6 : 0.9, down: 8 }),
  ]
  const extras: PartialPlacement[] = []
  for (const subject of plan.subjects) {
    const holder = placed.find((one) => one.subject === carrier)
    if (isHeld(plan, subject) && holder !== undefined) extras.push(held(stage, subject, holder))
    const pot = placed.find((one) => one.subject === vase)
    if (inVase(subject) && pot !== undefined) {
      const scale = pot.scale
      extras.push({ subject, x: pot.x, y: pot.y - (vaseMouth - 34) * scale, scale, fanned: true })
    }
  }
  // Flowers are painted before the vase, so that it covers their stems.
  const first = extras.filter(({ subject }) => inVase(subject))
  const last = extras.filter(({ subject }) => !inVase(subject))
  return [...first, ...placed, ...last].map((one) => ({
    ...one,
    y: Math.round(one.y / Math.max(1, unit)) * Math.max(1, unit),
  }))
}

function held({ shape, heading }: Stage, subject: SceneSubject, holder: PartialPlacement): PartialPlacement {
  const hand = holder.subject.going
    ? { x: -12, y: holder.subject.name === 'child' ? -56 : -92 }
    : hands[holder.subject.name]!
  const mirror = heading === 1 ? -1 : 1
  const outermost = groupOffset(holder.subject, holder.subject.count - 1).x
  const x = holder.x + (mirror * hand.x + (mirror === 1 ? outermost : 0)) * holder.scale
  const scale = Math.min(holder.scale, shape.unit * (subject.name === 'kite' ? 0.8 : 1.3))
  // The origin of a kite is its centre, and its string ends far below.
  const string = subject.name === 'kite' ? kiteString : { x: 0, y: 0 }
  return {
    subject,
    x: x - mirror * string.x * scale,
    y: holder.y + hand.y * holder.scale - string.y * scale,
    scale,
    ...(holder.travel === undefined ? {} : { travel: holder.travel }),
  }
}

function row(
  stage: Stage,
  items: SceneSubject[],
  space: { middle: number; share: number; down: number },
): PartialPlacement[] {
  if (items.length === 0) return []
  const { plan, shape, heading, size } = stage
  const { width, unit } = shape
  const gap = 22
  const total = items.reduce((sum, subject) => sum + widthOf(subject), gap * (items.length - 1))
  const tallest = Math.max(...items.map((subject) => -boxOf(subject).top))
  const alone = items.length === 1 && items[0]!.count === 1 && plan.subjects.length === 1
  // A single small subject is enlarged; several subjects keep their proportions.
  const preferred = alone ? Math.max(0.95, Math.min(1.75, 300 / tallest)) : Math.min(1.55, 330 / tallest)
  const scale = Math.min(preferred * unit * size, (width * space.share) / total)
  const bridge = plan.subjects.some(({ name }) => name === 'bridge')
  const middle = heading === 1 ? 1 - space.middle : space.middle
  let x = width * middle - (total * scale) / 2
  return items.map((subject) => {
    const { left, right } = boxOf(subject)
    const origin = x - left * scale
    x += (right - left + gap) * scale
    const { stance } = subjects[subject.name]
    const down =
      stance === 'rails'
        ? 4
        : stance === 'road' && plan.track === 'road'
          ? 16
          : stance === 'road'
            ? 20
            : space.down
    const y = bridge && stance !== 'back' ? deckLine(plan, shape) : footLine(shape) + down * unit
    // The subject is at its placed position halfway through the film.
    const way = Math.min(shape.frameCount * 1.6 * unit, width * 0.2)
    const travel = subject.going && plan.camera === 'still' ? heading * way : 0
    // People stand behind the table, which hides their legs.
    if (plan.surface === 'table' && carriers.has(subject.name)) {
      return { subject, x: origin, y: footLine(shape) + 64 * unit, scale, behindLayer: 1 }
    }
    const behindLayer = bridge && plan.surface === undefined ? 2 : inFront
    return { subject, x: origin - travel / 2, y, scale, travel, behindLayer }
  })
}
