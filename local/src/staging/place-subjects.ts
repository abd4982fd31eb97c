import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { Light } from '../scenes/celestial.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { subjects, type Stance } from '../subjects/subject-table.ts'
import { onTheWater } from './place-afloat.ts'
import { across, closeAbove, floating, inTheSky, swimming } from './place-aloft.ts'
import { isHeld, standing } from './place-on-ground.ts'
import { boxOf, fanBox, inFront, type Placement, type Stage, type PartialPlacement } from './placement.ts'

/** Places all subjects of the scene, farthest first. */
export function placeSubjects(
  plan: ScenePlan,
  shape: FilmShape,
  light: Light,
  crowded: boolean,
): Placement[] {
  const random = randomFrom(plan.seed, 'subjects')
  // While the camera pans, subjects move with the scenery; otherwise they face against its direction.
  const ahead = plan.camera === 'pan' ? -1 : 1
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
  ].map((partial) => complete(stage, partial))
}

function complete({ shape, heading }: Stage, partial: PartialPlacement): Placement {
  const { subject, x, y, scale } = partial
  const { left, top, right, bottom } = partial.fanned === true ? fanBox(subject) : boxOf(subject)
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
    ...partial,
  }
}
