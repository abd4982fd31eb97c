import fc from 'fast-check'
import { expect, test } from 'vitest'

import type { Provider } from '../providers/port/provider.ts'
import { chooseRoute, explainRoutes, secondsFor, type RouteState } from './choose-route.ts'
import type { Requirements, Route, Router } from './route.ts'

const video = { canRemix: false } as Provider['video']

const route = (name: string, given: Partial<Route> & { can?: Partial<Provider> } = {}): Route => {
  const { can, ...rest } = given
  return {
    provider: { name, acceptsJobs: true, slots: 100, video, ...can } as Provider,
    upstreamModel: 'theirs',
    order: 1,
    weight: 1,
    seconds: undefined,
    sizes: undefined,
    slots: 100,
    costs: undefined,
    ...rest,
  }
}

const requirements: Requirements = {
  capability: 'video',
  video: { seconds: 5, width: 480, height: 480, isRemix: false, isSilent: false },
}
const silent: Requirements = {
  ...requirements,
  video: { seconds: 5, width: 480, height: 480, isRemix: false, isSilent: true },
}
const withClip = (clip: object): Requirements => ({
  ...requirements,
  video: { seconds: 5, width: 480, height: 480, isRemix: false, isSilent: false, ...clip },
})
const clips = { usesVideo: () => true, usesAudio: () => true }
const remix: Requirements = {
  ...requirements,
  video: { seconds: 5, width: 480, height: 480, isRemix: true, isSilent: false },
}

type State = { health?: ReturnType<Router['healthOf']>; tasks?: number; isOffered?: boolean }

const stateOf = (states: Record<string, State>, random = 0): RouteState => ({
  healthOf: (name) => states[name]?.health ?? { kind: 'healthy' },
  isOffered: (name) => states[name]?.isOffered ?? false,
  tasksAt: (name) => ({ all: states[name]?.tasks ?? 0, ofModel: states[name]?.tasks ?? 0 }),
  stopAt: () => undefined,
  random: () => random,
})

const choose = (routes: Route[], states: Record<string, State> = {}, asked = requirements, random = 0) =>
  chooseRoute(routes, asked, stateOf(states, random))?.decision

const unhealthy = (forMs: number): State => ({
  health: { kind: 'unhealthy', reason: `unhealthy for ${forMs}`, forMs, isUnauthorized: false },
})

test.each([
  ['is disabled', route('acme', { can: { acceptsJobs: false } }), requirements],
  ['cannot make video', route('acme', { can: { video: undefined } } as never), requirements],
  ['cannot make speech', route('acme'), { capability: 'speech' }],
  ['makes 4, 6 or 8 seconds, not 5', route('acme', { seconds: [4, 6, 8] }), requirements],
  ['does not make 480x480', route('acme', { sizes: ['720x1280', '1280x720'] }), requirements],
  ['cannot remix', route('acme'), remix],
  ['cannot make video without sound', route('acme'), silent],
  ['cannot use a reference video', route('acme'), withClip({ hasVideo: true })],
  ['cannot use a reference audio', route('acme'), withClip({ hasAudio: true })],
] as const)('a route that %s is never chosen, and the decision has the reason', (reason, unable, asked) => {
  expect(choose([unable], {}, asked)).toBeUndefined()
  const able = route('bolt', {
    order: 2,
    can: {
      video: { canRemix: true, canChooseSound: () => true, ...clips } as unknown as Provider['video'],
      speech: {} as Provider['speech'],
    } as Partial<Provider>,
  })
  expect(choose([unable, able], {}, asked)).toEqual({
    provider: 'bolt',
    reason: 'the only capable route',
    skipped: [{ provider: 'acme', reason }],
  })
})

const acme = route('acme')
const bolt = route('bolt', { order: 2 })

test.each<[string, Record<string, State>, Partial<Requirements>, string, string, string[]]>([
  ['the lowest order', {}, {}, 'acme', 'order 1', []],
  [
    'a healthy route before an unhealthy one',
    { acme: unhealthy(12_000) },
    {},
    'bolt',
    'order 2: acme is unhealthy',
    ['unhealthy for 12000'],
  ],
  [
    'a route that has not refused it',
    {},
    { tried: ['acme'] },
    'bolt',
    'order 2: acme refused it',
    ['refused it already'],
  ],
  [
    'a route that may be called, and does not say that the other refused it',
    {},
    { unavailable: [{ provider: 'acme', reason: 'being probed', forMs: 0 }] },
    'bolt',
    'order 2: acme may not be called now',
    ['being probed'],
  ],
  [
    'a route with a free slot',
    { acme: { tasks: 100 } },
    {},
    'bolt',
    'order 2: acme has no free slot',
    ['all 100 slots in use'],
  ],
  [
    'the lowest order if all are full',
    { acme: { tasks: 100 }, bolt: { tasks: 200 } },
    {},
    'acme',
    'every route is full, waiting for a slot',
    ['all 100 slots in use'],
  ],
  [
    'a full route before an unhealthy one',
    { acme: unhealthy(1), bolt: { tasks: 100 } },
    {},
    'bolt',
    'every route is full, waiting for a slot',
    ['unhealthy for 1'],
  ],
  [
    'the earliest to recover if all are unhealthy',
    { acme: unhealthy(9_000), bolt: unhealthy(2_000) },
    {},
    'bolt',
    'the earliest to recover, in 2 s',
    ['unhealthy for 9000'],
  ],
  [
    'a route that refused it, if the other is unhealthy',
    { bolt: unhealthy(2_000) },
    { tried: ['acme'] },
    'acme',
    'no other route is available now',
    ['unhealthy for 2000'],
  ],
  ['a half-open route, as a probe', { acme: unhealthy(0) }, {}, 'acme', 'order 1', []],
  [
    'another route while a probe is under way',
    { acme: { ...unhealthy(0), isOffered: true } },
    {},
    'bolt',
    'order 2: acme is unhealthy',
    ['unhealthy for 0'],
  ],
  [
    'the required provider, whatever its health',
    { acme: unhealthy(9_000) },
    { onlyAt: 'acme' },
    'acme',
    'the only capable route',
    [],
  ],
])('%s is chosen', (_name, states, given, provider, reason, skips) => {
  const decision = choose([acme, bolt], states, { ...requirements, ...given })
  expect(decision).toMatchObject({ provider, reason })
  expect(decision?.skipped.map((each) => each.reason)).toEqual(skips)
})

test('the only route is chosen whatever its state, because the work can wait there', () => {
  for (const state of [{}, unhealthy(50_000), { tasks: 1_000 }]) {
    expect(choose([acme], { acme: state }, { ...requirements, tried: ['acme'] })).toEqual({
      provider: 'acme',
      reason: 'the only route',
      skipped: [],
    })
  }
})

test('a model may have fewer slots than its provider', () => {
  expect(choose([route('acme', { slots: 3 }), bolt], { acme: { tasks: 3 } })).toMatchObject({
    provider: 'bolt',
    skipped: [{ provider: 'acme', reason: 'all 3 slots for this model in use' }],
  })
})

test('weights decide within one order', () => {
  const routes = [route('acme', { weight: 3 }), route('bolt')]
  expect(choose(routes, {}, requirements, 0.74)).toMatchObject({
    provider: 'acme',
    reason: 'order 1, weight 3 of 4',
  })
  expect(choose(routes, {}, requirements, 0.76)).toMatchObject({
    provider: 'bolt',
    reason: 'order 1, weight 1 of 4',
  })
  const draws = Array.from(
    { length: 1_000 },
    (_, at) => choose(routes, {}, requirements, at / 1_000)?.provider,
  )
  expect(draws.filter((name) => name === 'acme')).toHaveLength(750)
})

test('in any state a capable route is chosen, and of the free routes one of the lowest order', () => {
  const state = fc.record({
    forMs: fc.option(fc.nat(5_000), { nil: undefined }),
    tasks: fc.nat(150),
    order: fc.integer({ min: 1, max: 3 }),
    weight: fc.nat(5),
    isTried: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(state, { minLength: 2, maxLength: 5 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (given, random) => {
        const named = given
          .map((each, at) => ({ ...each, name: `p${at}` }))
          .toSorted((one, other) => one.order - other.order)
        const states = Object.fromEntries(
          named.map(({ name, forMs, tasks }) => [
            name,
            { ...(forMs !== undefined && unhealthy(forMs + 1)), tasks },
          ]),
        )
        const tried = named.flatMap(({ name, isTried }) => (isTried ? name : []))
        const routes = named.map(({ name, order, weight }) => route(name, { order, weight }))
        const decision = choose(routes, states, { ...requirements, tried }, random)
        const chosen = named.find(({ name }) => name === decision?.provider)
        const free = named.filter(
          ({ forMs, tasks, isTried }) => forMs === undefined && tasks < 100 && !isTried,
        )
        expect(chosen).toBeDefined()
        if (free.length > 0) expect(free.filter(({ order }) => order === free[0]?.order)).toContain(chosen)
        const explained = explainRoutes(routes, { ...requirements, tried }, stateOf(states, random))
        expect(explained.map(({ route: each }) => each)).toEqual(routes)
        expect(explained.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9)
        const ofChosen = explained.find(({ route: each }) => each.provider.name === chosen?.name)
        expect(ofChosen?.share).toBeGreaterThan(0)
        expect(ofChosen?.reason).toBe(decision?.reason)
      },
    ),
  )
})

const listed = [{ seconds: [4, 8, 12] }, { seconds: [5, 6] }]

test.each([
  ['as requested, if a route makes any length', [...listed, { seconds: undefined }], 7, 7],
  ['as requested, if a route makes it', listed, 5, 5],
  ['the next longer length that a route makes', listed, 7, 8],
  ['undefined, if all lengths are shorter', listed, 13, undefined],
])('the length of a video is %s', (_name, routes, requested, fitting) => {
  expect(secondsFor(routes, requested)).toBe(fitting)
})
