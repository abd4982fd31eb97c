import type { Route } from './route.ts'

/**
 * The length of video that is made for one that was asked for: as it is where some route makes any, else the next that
 * one of them makes. Undefined where none makes one as long. What is sent is what is charged for.
 */
export const secondsFor = (routes: Pick<Route, 'seconds'>[], asked: number): number | undefined => {
  const listed = routes.flatMap(({ seconds }) => seconds ?? [])
  if (routes.length === 0 || routes.some(({ seconds }) => seconds === undefined)) return asked
  const fitting = listed.filter((seconds) => seconds >= asked)
  return fitting.length === 0 ? undefined : Math.min(...fitting)
}
