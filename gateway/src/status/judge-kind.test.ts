import { describe, expect, test } from 'vitest'

import { combineStates, judgeKind, type KindFacts, type RouteHealth } from './judge-kind.ts'

const model = (id: string, ...healths: RouteHealth[]) => ({
  id,
  routes: healths.map((health, index) => ({ provider: `vendor-${index}`, health, reason: `is ${health}` })),
})
const facts = (given: Partial<KindFacts> = {}): KindFacts => ({
  kind: 'video',
  models: [model('one', 'healthy'), model('two', 'healthy')],
  hasWorkers: true,
  ends: { completed: 100, faults: 0 },
  ...given,
})
const stateOf = (given: Partial<KindFacts>) => judgeKind(facts(given)).state

test('operational: every model has a healthy route, workers run, and tasks end well', () => {
  expect(judgeKind(facts())).toEqual({ kind: 'video', state: 'operational', reasons: [] })
})

describe('models', () => {
  test.for<[string, KindFacts['models'], string]>([
    ['another route is healthy', [model('one', 'unhealthy', 'healthy')], 'operational'],
    ['one model of two has no route', [model('one', 'unhealthy'), model('two', 'healthy')], 'degraded'],
    ['one model of two has no enabled route', [model('one'), model('two', 'healthy')], 'degraded'],
    ['no model has a route', [model('one', 'unhealthy', 'unhealthy'), model('two')], 'down'],
    ['a route was not called since it failed', [model('one', 'untested', 'unhealthy')], 'degraded'],
  ])('%s', ([, models, expected]) => expect(stateOf({ models })).toBe(expected))

  test('the reasons name models and providers, and not too many', () => {
    const models = Array.from({ length: 25 }, (_, index) => model(`m${index}`, 'unhealthy'))
    const { reasons } = judgeKind(facts({ models }))
    expect(reasons).toHaveLength(1)
    expect(reasons[0]).toContain('m0 (vendor-0: is unhealthy), m1')
    expect(reasons[0]).toMatch(/m19 \(.*\) and 5 more\.$/)
  })
})

describe('without workers', () => {
  test.for([
    ['video', 'down'],
    ['transcription', 'degraded'],
    ['speech', 'operational'],
    ['chat', 'operational'],
  ] as const)('%s is %s', ([kind, expected]) => {
    expect(stateOf({ kind, hasWorkers: false })).toBe(expected)
  })
})

describe('ends of tasks', () => {
  test.for([
    [0, 4, 'operational'],
    [0, 5, 'down'],
    [1, 5, 'degraded'],
    [20, 5, 'degraded'],
    [21, 5, 'operational'],
  ] as const)('%d completed and %d failed: %s', ([completed, faults, expected]) => {
    expect(stateOf({ ends: { completed, faults } })).toBe(expected)
  })
})

test.for([
  [['operational', 'operational'], 'operational'],
  [['operational', 'down'], 'degraded'],
  [['degraded', 'down'], 'degraded'],
  [['down', 'down'], 'down'],
] as const)('%j together are %s', ([states, expected]) => expect(combineStates([...states])).toBe(expected))
