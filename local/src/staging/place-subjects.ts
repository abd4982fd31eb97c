import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { Light } from '../scenes/celestial.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { subjects, type Stance } from '../subjects/subject-table.ts'
import { onTheWater } from './place-afloat.ts'
import { across, closeAbove, floating, inTheSky, swimming } from './place-aloft.ts'
import { isHeld, standing } from './place-on-ground.ts'
import { boxOf, fanBox, inFront, type Placement, type Stage, type Wanted } from './placement.ts'

/** Says where everything is that the prompt named; what is painted first is farthest away. */
export function placeSubjects(
  plan: ScenePlan,
  shape: FilmShape,
  light: Light,
  crowded: boolean,
): Placement[] {
  const random = randomFrom(plan.seed, 'subjects')
  // Scenery that slides to the left shows something on its way to the right.
  const ahead = plan.pace === 'pan' ? -1 : 1
  const heading = (plan.direction === 'left' ? 1 : -1) * ahead
  const stage: Stage = { plan, shape, random, light, heading, size: crowded ? 0.62 : 1 }
  const of = (...stances: Stance[]) =>
    plan.subjects.filter(({ name }) => stances.includes(subjects[name].stance))
  const floats = plan.biome === 'space'
  return [
    ...of('span').map((subject) => across(stage, subject)),
    ...of('sky')
      .filter((subject) => !isHeld(plan, subject))
      .map((subject, index, all) => inTheSky(stage, subject, index, all.length)),
    ...onTheWater(stage, of('water')),
    ...of('swim').map((subject, index) => swimming(stage, subject, index)),
    ...(floats
      ? of('ground', 'back', 'road', 'rails', 'table').map((subject, index) =>
          floating(stage, subject, index),
        )
      : standing(stage)),
    ...of('air').map((subject) => closeAbove(stage, subject)),
  ].map((wanted) => complete(stage, wanted))
}

function complete({ shape, heading }: Stage, wanted: Wanted): Placement {
  const { subject, x, y, scale } = wanted
  const { left, top, right, bottom } = wanted.fanned === true ? fanBox(subject) : boxOf(subject)
  const spans = subjects[subject.name].stance === 'span'
  return {
    // Drawings face left.
    ...{ mirrored: heading === 1 && !spans, travel: 0, sway: 0, swayFrames: 100 },
    ...{ behindLayer: inFront, fanned: false },
    box: spans
      ? { x: 0, y: y + top * scale, width: shape.width, height: (bottom - top) * scale }
      : {
          x: x + left * scale,
          y: y + top * scale,
          width: (right - left) * scale,
          height: (bottom - top) * scale,
        },
    ...wanted,
  }
}
