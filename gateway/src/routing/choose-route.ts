/** Chooses among a model's routes by capability, health, load, order and weight. Pure: all state is a parameter. */
import type { Capability } from '../providers/port/provider.ts'
import type { Decision, Requirements, Route, Router } from './route.ts'

export interface RouteState {
  healthOf: (provider: string) => ReturnType<Router['healthOf']>
  /** Whether other work was already routed to the half-open provider as a probe. */
  isOffered: (provider: string) => boolean
  /** Its tasks, in flight and queued, of all models and of this one. */
  tasksAt: (provider: string) => { all: number; ofModel: number }
  /** Whether its budget stops new work. */
  stopAt: (provider: string) => { reason: string; forMs: number } | undefined
  random: () => number
}

const inability: Record<Capability, string> = {
  video: 'cannot make video',
  speech: 'cannot make speech',
  transcription: 'cannot make transcripts',
  dialogue: 'cannot serve chat with audio',
}

const listed = (values: (number | string)[]) =>
  values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`

/** The reason why a route can never do the work; undefined if it can. */
const whyUnable = (
  { provider, upstreamModel, seconds, sizes }: Route,
  requirements: Requirements,
): string | undefined => {
  if (!provider.acceptsJobs) return 'is disabled'
  if (provider[requirements.capability] === undefined) return inability[requirements.capability]
  if (requirements.video === undefined) return undefined
  const { seconds: requested, width, height, isRemix, isSilent, hasVideo, hasAudio } = requirements.video
  if (seconds !== undefined && !seconds.includes(requested)) {
    return `makes ${listed(seconds)} seconds, not ${requested}`
  }
  const size = `${width}x${height}`
  if (sizes !== undefined && !sizes.includes(size)) return `does not make ${size}`
  if (isRemix && provider.video?.canRemix !== true) return 'cannot remix'
  if (isSilent && provider.video?.canChooseSound?.(upstreamModel) !== true) {
    return 'cannot make video without sound'
  }
  if (hasVideo === true && provider.video?.usesVideo?.(upstreamModel) !== true) {
    return 'cannot use a reference video'
  }
  if (hasAudio === true && provider.video?.usesAudio?.(upstreamModel) !== true) {
    return 'cannot use a reference audio'
  }
  return undefined
}

/** A temporary reason against a capable route; `forMs` is the time until it ends, if known. */
interface Obstacle {
  kind: 'tried' | 'unhealthy' | 'unavailable' | 'full'
  reason: string
  forMs: number
}

const obstacleOf = (
  route: Route,
  requirements: Requirements,
  state: RouteState,
  isOnly: boolean,
): Obstacle | undefined => {
  const { name, slots } = route.provider
  const health = state.healthOf(name)
  if (health.kind === 'unhealthy' && (health.forMs > 0 || (!isOnly && state.isOffered(name)))) {
    return { kind: 'unhealthy', reason: health.reason, forMs: Math.max(1, health.forMs) }
  }
  const stop = state.stopAt(name)
  if (stop !== undefined) return { kind: 'unavailable', reason: stop.reason, forMs: Math.max(1, stop.forMs) }
  if (requirements.tried?.includes(name) === true) {
    return { kind: 'tried', reason: 'refused it already', forMs: 0 }
  }
  const unavailable = requirements.unavailable?.find(({ provider }) => provider === name)
  if (unavailable !== undefined) {
    const { reason, forMs } = unavailable
    return { kind: 'unavailable', reason, forMs: Math.max(1, forMs) }
  }
  // Load is known only for queued work, and does not matter if there is only one route.
  if (requirements.capability !== 'video' || isOnly) return undefined
  const tasks = state.tasksAt(name)
  if (tasks.all >= slots) return { kind: 'full', reason: `all ${slots} slots in use`, forMs: 0 }
  if (tasks.ofModel < route.slots) return undefined
  return { kind: 'full', reason: `all ${route.slots} slots for this model in use`, forMs: 0 }
}

/** Weighted random choice. */
const drawByWeight = (routes: Route[], random: () => number): Route | undefined => {
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

const obstacleText: Record<Obstacle['kind'], string> = {
  tried: 'refused it',
  unhealthy: 'is unhealthy',
  unavailable: 'may not be called now',
  full: 'has no free slot',
}

interface Candidate {
  route: Route
  obstacle: Obstacle | undefined
}

/** Explains the choice among the routes without obstacles. */
const becauseOf = (chosen: Route, equals: Route[], candidates: Candidate[]): string => {
  const preferred = candidates.find(({ route }) => route.order < chosen.order)
  if (preferred?.obstacle !== undefined) {
    const { route, obstacle } = preferred
    return `order ${chosen.order}: ${route.provider.name} ${obstacleText[obstacle.kind]}`
  }
  if (equals.length < 2) return `order ${chosen.order}`
  const total = equals.reduce((sum, { weight }) => sum + weight, 0)
  return `order ${chosen.order}, weight ${chosen.weight} of ${total}`
}

/** With obstacles on every route, the work waits for a slot if a route is only full, else for the earliest recovery. */
const bestOfBlocked = (candidates: Candidate[]): { route: Route; reason: string } | undefined => {
  const full = candidates.find(({ obstacle }) => obstacle?.kind === 'full')
  if (full !== undefined) return { route: full.route, reason: 'every route is full, waiting for a slot' }
  const [soonest] = candidates.toSorted(
    (one, other) => (one.obstacle?.forMs ?? 0) - (other.obstacle?.forMs ?? 0),
  )
  if (soonest?.obstacle === undefined) return undefined
  const { route, obstacle } = soonest
  if (obstacle.kind === 'tried') return { route, reason: 'no other route is available now' }
  const reason = `the earliest to recover, in ${Math.ceil(obstacle.forMs / 1000)} s`
  return { route, reason }
}

/** The routes that could do the work, and what is against each of them now. */
const judge = (routes: Route[], requirements: Requirements, state: RouteState) => {
  const judged = routes
    .filter(({ provider }) => requirements.onlyAt === undefined || provider.name === requirements.onlyAt)
    .map((route) => ({ route, unable: whyUnable(route, requirements) }))
  const capable = judged.flatMap(({ route, unable }) => (unable === undefined ? route : []))
  const isOnly = capable.length === 1
  const candidates: Candidate[] = capable.map((route) => ({
    route,
    obstacle: obstacleOf(route, requirements, state, isOnly),
  }))
  const free = candidates.flatMap(({ route, obstacle }) => (obstacle === undefined ? route : []))
  return { judged, candidates, isOnly, equals: free.filter(({ order }) => order === free[0]?.order) }
}

/** How likely a route is chosen, and why it is or is not. */
export interface ExplainedRoute {
  route: Route
  share: number
  reason: string
}

/** All routes of a model for a piece of work, without choosing one. */
export const explainRoutes = (
  routes: Route[],
  requirements: Requirements,
  state: RouteState,
): ExplainedRoute[] => {
  const { judged, candidates, isOnly, equals } = judge(routes, requirements, state)
  const total = equals.reduce((sum, { weight }) => sum + weight, 0)
  const shareOf = (route: Route) => (total > 0 ? route.weight / total : route === equals[0] ? 1 : 0)
  const blocked = isOnly || equals.length > 0 ? undefined : bestOfBlocked(candidates)
  return judged.map(({ route, unable }) => {
    const obstacle = candidates.find((each) => each.route === route)?.obstacle
    if (unable !== undefined) return { route, share: 0, reason: unable }
    if (isOnly) return { route, share: 1, reason: obstacle?.reason ?? 'the only capable route' }
    if (equals.includes(route)) {
      return { route, share: shareOf(route), reason: becauseOf(route, equals, candidates) }
    }
    if (route === blocked?.route) return { route, share: 1, reason: blocked.reason }
    return {
      route,
      share: 0,
      reason: obstacle?.reason ?? `routes of order ${equals[0]?.order} are used first`,
    }
  })
}

export interface Choice {
  route: Route
  decision: Decision
  /** No other route could ever do the work. */
  isOnly: boolean
}

/** `routes` are sorted by order. Returns undefined if none of them could ever do the work. */
export const chooseRoute = (
  routes: Route[],
  requirements: Requirements,
  state: RouteState,
): Choice | undefined => {
  const { judged, candidates, isOnly, equals } = judge(routes, requirements, state)

  const skippedBut = (chosen: Route) => [
    ...judged.flatMap(({ route, unable }) =>
      unable === undefined ? [] : { provider: route.provider.name, reason: unable },
    ),
    ...candidates.flatMap(({ route, obstacle }) =>
      obstacle === undefined || route === chosen
        ? []
        : { provider: route.provider.name, reason: obstacle.reason },
    ),
  ]
  const decided = (route: Route, reason: string): Choice => ({
    route,
    isOnly,
    decision: { provider: route.provider.name, reason, skipped: skippedBut(route) },
  })
  const [only] = candidates
  if (only !== undefined && isOnly) {
    return decided(only.route, routes.length === 1 ? 'the only route' : 'the only capable route')
  }
  const draw = drawByWeight(equals, state.random)
  if (draw !== undefined) return decided(draw, becauseOf(draw, equals, candidates))
  const best = bestOfBlocked(candidates)
  return best === undefined ? undefined : decided(best.route, best.reason)
}

/**
 * The video length to make for a requested one: the requested length if a route makes any length, else the next longer
 * one that a route makes. Undefined if all are shorter. The caller is charged for the length that is made.
 */
export const secondsFor = (routes: Pick<Route, 'seconds'>[], requested: number): number | undefined => {
  const listed = routes.flatMap(({ seconds }) => seconds ?? [])
  if (routes.length === 0 || routes.some(({ seconds }) => seconds === undefined)) return requested
  const fitting = listed.filter((seconds) => seconds >= requested)
  return fitting.length === 0 ? undefined : Math.min(...fitting)
}
