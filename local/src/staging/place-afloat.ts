import { footLine } from '../scenes/ground.ts'
import type { SceneSubject } from '../scenes/scene-plan.ts'
import { horizonLine } from '../scenes/sky.ts'
import { subjects } from '../subjects/subject-table.ts'
import { inFront, widthOf, type Stage, type PartialPlacement } from './placement.ts'

/** Subjects on the water. Ground subjects named together with a boat are in it, in front of its sails. */
export function onTheWater(stage: Stage, afloat: SceneSubject[]): PartialPlacement[] {
  const vessels = floats(stage, afloat)
  const boat = vessels.find(({ subject }) => subject.name === 'boat')
  const riders = stage.plan.subjects.filter((subject) => ridesABoat(stage, subject))
  return boat === undefined ? vessels : [...vessels, ...aboard(boat, riders)]
}

export function ridesABoat({ plan }: Pick<Stage, 'plan'>, { name }: SceneSubject): boolean {
  const hasBoat = plan.biome === 'water' && plan.subjects.some((other) => other.name === 'boat')
  return hasBoat && subjects[name].stance === 'ground'
}

function floats({ plan, shape, random, light, size }: Stage, afloat: SceneSubject[]): PartialPlacement[] {
  const { width, height, unit } = shape
  const onLand = plan.biome !== 'water'
  const horizon = horizonLine(plan, shape)
  const side = light.x < width / 2 ? random.between(0.58, 0.68) : random.between(0.32, 0.42)
  return afloat.map((subject, index) => {
    const x = afloat.length > 1 ? width * (0.3 + (0.4 * index) / (afloat.length - 1)) : width * side
    const y = onLand
      ? footLine(shape)
      : horizon + (height - horizon) * (plan.surface === undefined ? 0.3 : 0.16)
    const baseScale = subject.name === 'duck' ? 1.6 : 1.15
    const scale = Math.min(
      (width * 0.8) / widthOf(subject),
      baseScale * unit * size * (plan.surface === undefined ? 1 : 0.7),
    )
    return { subject, x, y, scale, sway: 3 * unit, swayFrames: 80, behindLayer: onLand ? inFront : 2 }
  })
}

function aboard(boat: PartialPlacement, riders: SceneSubject[]): PartialPlacement[] {
  return riders.map((subject, index) => ({
    ...boat,
    subject,
    x: boat.x + (index * 50 - 40) * boat.scale,
    y: boat.y - 6 * boat.scale,
    scale: boat.scale * 0.55,
  }))
}
