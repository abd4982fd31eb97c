/** The choice among a model's routes: by ability, health, load, order and weight. Pure; what is known is handed in. */
import type { Capability } from '../providers/port/provider.ts'
import type { Decision, Requirements, Route, Router } from './route.ts'

export interface Known {
  healthOf: (provider: string) => ReturnType<Router['healthOf']>
  /** Whether other work is on its way to try an unhealthy provider whose time is over. */
  isOffered: (provider: string) => boolean
  /** Tasks that it has or has waiting, of every model and of this one. */
  tasksAt: (provider: string) => { all: number; ofModel: number }
  random: () => number
}

const inability: Record<Capability, string> = {
  video: 'cannot make video',
  speech: 'cannot make speech',
  transcription: 'cannot make transcripts',
  dialogue: 'cannot hold a dialogue',
}

const listed = (values: (number | string)[]) =>
  values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`

/** Why a route cannot do it, today or tomorrow; undefined where it can. */
const whyUnable = ({ provider, seconds, sizes }: Route, need: Requirements): string | undefined => {
  if (!provider.acceptsJobs) return 'takes nothing new'
  if (provider[need.capability] === undefined) return inability[need.capability]
  if (need.video === undefined) return undefined
  const { seconds: asked, width, height, isRemix } = need.video
  if (seconds !== undefined && !seconds.includes(asked)) {
    return `makes ${listed(seconds)} seconds, not ${asked}`
  }
  const size = `${width}x${height}`
  if (sizes !== undefined && !sizes.includes(size)) return `does not make ${size}`
  if (isRemix && provider.video?.canRemix !== true) return 'cannot remix'
  return undefined
}

/** What stands against a route that is able; `forMs` where time alone will change it. */
interface Hindrance {
  kind: 'tried' | 'unhealthy' | 'full'
  reason: string
  forMs: number
}

const hindranceOf = (
  route: Route,
  need: Requirements,
  known: Known,
  isOnly: boolean,
): Hindrance | undefined => {
  const { name, slots } = route.provider
  const health = known.healthOf(name)
  if (health.kind === 'unhealthy' && (health.forMs > 0 || (!isOnly && known.isOffered(name)))) {
    return { kind: 'unhealthy', reason: health.reason, forMs: Math.max(1, health.forMs) }
  }
  if (need.tried?.includes(name) === true) {
    return { kind: 'tried', reason: 'turned it away already', forMs: 0 }
  }
  // Only what is queued has a load that we know of; and where there is nowhere else to go it makes no difference.
  if (need.capability !== 'video' || isOnly) return undefined
  const tasks = known.tasksAt(name)
  if (tasks.all >= slots) return { kind: 'full', reason: `all ${slots} slots taken`, forMs: 0 }
  if (tasks.ofModel < route.slots) return undefined
  return { kind: 'full', reason: `all ${route.slots} slots for this model taken`, forMs: 0 }
}

/** Draws one of several by their weights; the same number draws the same one. */
const drawn = (routes: Route[], random: () => number): Route | undefined => {
  const total = routes.reduce((sum, { weight }) => sum + weight, 0)
  if (routes.length < 2 || total <= 0) return routes[0]
  let left = random() * total
  return (
    routes.find(({ weight }) => {
      left -= weight
      return left < 0
    }) ?? routes.at(-1)
  )
}

const whyPassedOver: Record<Hindrance['kind'], string> = {
  tried: 'turned it away',
  unhealthy: 'is unhealthy',
  full: 'has no free slot',
}

interface Candidate {
  route: Route
  hindrance: Hindrance | undefined
}

/** Why the chosen one, among those that nothing stands against. */
const becauseOf = (chosen: Route, equals: Route[], candidates: Candidate[]): string => {
  const preferred = candidates.find(({ route }) => route.order < chosen.order)
  if (preferred?.hindrance !== undefined) {
    const { route, hindrance } = preferred
    return `order ${chosen.order}: ${route.provider.name} ${whyPassedOver[hindrance.kind]}`
  }
  if (equals.length < 2) return `order ${chosen.order}`
  const total = equals.reduce((sum, { weight }) => sum + weight, 0)
  return `order ${chosen.order}, weight ${chosen.weight} of ${total}`
}

/** Where the work waits, when something stands against every route: where there is a slot to wait for, or the soonest. */
const bestOfHindered = (candidates: Candidate[]): { route: Route; reason: string } | undefined => {
  const full = candidates.find(({ hindrance }) => hindrance?.kind === 'full')
  if (full !== undefined) return { route: full.route, reason: 'every route is full, it waits for a slot' }
  const [soonest] = candidates.toSorted(
    (one, other) => (one.hindrance?.forMs ?? 0) - (other.hindrance?.forMs ?? 0),
  )
  if (soonest?.hindrance === undefined) return undefined
  const { route, hindrance } = soonest
  if (hindrance.kind === 'tried') return { route, reason: 'no other can take it now' }
  const reason = `the soonest to be well again, in ${Math.ceil(hindrance.forMs / 1000)} s`
  return { route, reason }
}

export interface Choice {
  route: Route
  decision: Decision
  /** No other could ever do it. */
  isOnly: boolean
}

/** Routes come in their order. Undefined where none of them could ever do it. */
export const chooseRoute = (routes: Route[], need: Requirements, known: Known): Choice | undefined => {
  const sought = routes.filter(({ provider }) => need.onlyAt === undefined || provider.name === need.onlyAt)
  const judged = sought.map((route) => ({ route, unable: whyUnable(route, need) }))
  const able = judged.flatMap(({ route, unable }) => (unable === undefined ? route : []))
  const isOnly = able.length === 1
  const candidates = able.map((route) => ({ route, hindrance: hindranceOf(route, need, known, isOnly) }))
  const free = candidates.flatMap(({ route, hindrance }) => (hindrance === undefined ? route : []))
  const equals = free.filter(({ order }) => order === free[0]?.order)

  const skippedBut = (chosen: Route) => [
    ...judged.flatMap(({ route, unable }) =>
      unable === undefined ? [] : { provider: route.provider.name, reason: unable },
    ),
    ...candidates.flatMap(({ route, hindrance }) =>
      hindrance === undefined || route === chosen
        ? []
        : { provider: route.provider.name, reason: hindrance.reason },
    ),
  ]
  const decided = (route: Route, reason: string): Choice => ({
    route,
    isOnly,
    decision: { provider: route.provider.name, reason, skipped: skippedBut(route) },
  })
  const [only] = able
  if (only !== undefined && isOnly) {
    return decided(only, routes.length === 1 ? 'the only route' : 'the only one that can')
  }
  const draw = drawn(equals, known.random)
  if (draw !== undefined) return decided(draw, becauseOf(draw, equals, candidates))
  const best = bestOfHindered(candidates)
  return best === undefined ? undefined : decided(best.route, best.reason)
}
