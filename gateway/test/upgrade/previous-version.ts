import { inject } from 'vitest'

import type { PreviousVersion } from './bundle-previous.ts'

/** The version to upgrade from; throws if it is not in the clone. */
export const previousVersion = (): PreviousVersion => {
  const previous = inject('previous')
  if ('problem' in previous) throw new Error(previous.problem)
  return previous
}
