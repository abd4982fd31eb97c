/** Routes as the API takes them, and how they are moved. */
import type { SetModelRoutesParams } from '@kinora/client/admin'

import type { Route } from './model-data.ts'

type RouteBody = SetModelRoutesParams['routes'][number]

type Cost = NonNullable<RouteBody['costs']>[number]

const describeCost = ({
  unit,
  micros,
  resolution,
  sound,
  input,
}: NonNullable<Route['costs']>[number]): Cost => ({
  ...{ unit, micros },
  ...(resolution !== null && { resolution }),
  ...(sound !== null && { sound }),
  ...(input !== null && { input }),
})

/** What is the default is left out, so that it follows the provider and the model. */
export const describeRoute = (
  route: Route,
  model: string,
  slotsOfProvider: number | undefined,
): RouteBody => ({
  ...{ provider: route.provider, order: route.order, weight: route.weight },
  ...(route.model !== model && { model: route.model }),
  ...(route.seconds !== null && { seconds: route.seconds }),
  ...(route.sizes !== null && { sizes: route.sizes }),
  ...(route.slots !== slotsOfProvider && { slots: route.slots }),
  ...(route.costs !== null && { costs: route.costs.map(describeCost) }),
})

/** Routes of the same order, first group first. */
export const groupRoutes = <Each extends { order: number }>(routes: readonly Each[]): Each[][] =>
  [...Map.groupBy(routes, ({ order }) => order).entries()]
    .toSorted(([one], [other]) => one - other)
    .map(([, group]) => group)

const number = <Each extends { order: number }>(groups: Each[][]): Each[] =>
  groups
    .filter((group) => group.length > 0)
    .flatMap((group, index) => group.map((route) => ({ ...route, order: index + 1 })))

/**
 * A route of a group with others gets a group of its own, before or after them. One that is alone changes its place
 * with the group there.
 */
export const moveRoute = <Each extends { order: number }>(
  routes: readonly Each[],
  moved: Each,
  step: -1 | 1,
): Each[] => {
  const groups = groupRoutes(routes)
  const at = groups.findIndex((group) => group.includes(moved))
  const rest = (groups[at] ?? []).filter((route) => route !== moved)
  const others = groups.with(at, rest).filter((group) => group.length > 0)
  const place = rest.length > 0 ? (step === -1 ? at : at + 1) : at + step
  return number(others.toSpliced(Math.max(0, place), 0, [moved]))
}

export const mayMove = <Each extends { order: number }>(
  routes: readonly Each[],
  moved: Each,
  step: -1 | 1,
): boolean => {
  const groups = groupRoutes(routes)
  const at = groups.findIndex((group) => group.includes(moved))
  return (groups[at]?.length ?? 0) > 1 || groups[at + step] !== undefined
}
