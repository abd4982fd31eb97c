import { expect, test } from 'vitest'

import { parsePrompt } from './simulation.ts'

test('an ordinary prompt has no directives', () => {
  expect(parsePrompt('  A whale,  simply: swimming ')).toEqual({
    simulation: {},
    text: 'A whale, simply: swimming',
  })
})

test.each([
  ['a cat sim:fail=content_policy_violation', { fail: { code: 'content_policy_violation', atPercent: 0 } }],
  ['sim:fail=upstream_error@80% a cat', { fail: { code: 'upstream_error', atPercent: 80 } }],
  ['a sim:slow=30s cat', { slowMs: 30_000 }],
  ['a cat SIM:SLOW=250ms', { slowMs: 250 }],
  ['a cat sim:stall', { stall: true }],
  ['a cat sim:429=2', { refusals: 2 }],
  ['a cat sim:progress=jumpy', { jumpyProgress: true }],
  ['a sim:429=1 cat sim:slow=1s', { refusals: 1, slowMs: 1000 }],
])('%s', (prompt, simulation) => {
  expect(parsePrompt(prompt)).toEqual({ simulation, text: 'a cat' })
})

test.each(['sim:what=1', 'sim:slow=soon', 'sim:fail', 'sim:429=x', 'versim:stall'])(
  'an invalid directive stays in the text: %s',
  (prompt) => {
    expect(parsePrompt(prompt)).toEqual({ simulation: {}, text: prompt })
  },
)
