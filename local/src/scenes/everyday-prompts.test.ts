import { expect, test } from 'vitest'

import { everydayPrompts } from '../../test/kit/everyday-prompts.ts'
import { planScene } from './scene-plan.ts'

test('half of thirty everyday prompts are Chinese', () => {
  expect(new Set(everydayPrompts.map(({ prompt }) => prompt)).size).toBe(30)
  expect(everydayPrompts.filter(({ prompt }) => /\p{Script=Han}/u.test(prompt))).toHaveLength(15)
})

test.each(everydayPrompts)('$prompt shows $shows', ({ prompt, shows, setting, treatment }) => {
  const plan = planScene({ prompt })
  // Distant birds are decoration.
  const named = plan.subjects.filter(({ name }) => name !== 'flock')
  const subjects = named.map(({ name, count }) => (count === 1 ? name : `${count} ${name}`)).join(', ')
  expect({
    shows: plan.isTitle ? 'title' : subjects,
    setting: plan.isTitle ? undefined : plan.biome,
    treatment: plan.treatment,
  }).toEqual({ shows, setting, treatment })
})

test.each([
  ['a violinist by a lake', true],
  ['jazz', true],
  ['an aerial shot of a mountain lake', false],
  ['a quiet pine forest with fireflies', false],
  ['森林里的小提琴手', true],
  ['夜晚的城市街道', false],
  ['宁静的湖面', false],
  ['a dog by a lake', false],
])('%s is a title: %s', (prompt, isTitle) => {
  expect(planScene({ prompt }).isTitle).toBe(isTitle)
})

test.each([
  ['a purple idea', 'neon'],
  ['绿色的想法', 'forest'],
  ['jazz at night', 'night'],
])('the title card of %s has the palette %s', (prompt, paletteName) => {
  expect(planScene({ prompt })).toMatchObject({ isTitle: true, paletteName })
})
