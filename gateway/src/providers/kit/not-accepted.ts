import { Type } from 'typebox'

import { ProviderFailure } from '../port/failure.ts'
import type { VideoProvider } from '../port/video.ts'

/**
 * The setting with the statuses that mean that a submit was not accepted. Each protocol states its own, from the vendor's
 * documentation; see docs/decisions/0041-submits-that-were-not-accepted.md.
 */
export const notAcceptedStatuses = (documented: number[]) =>
  Type.Array(Type.Integer({ minimum: 500, maximum: 599, 'x-demand': 'a status from 500 to 599' }), {
    default: documented,
    description:
      'Statuses of a submit that certainly created no job, so that the task goes to another route or is submitted again. 429, 503 and most 4xx always count as such.',
  })

/** Turns an unknown outcome with one of these statuses into a certain refusal. */
export const withNotAccepted = (video: VideoProvider, statuses: unknown): VideoProvider => {
  if (!Array.isArray(statuses) || statuses.length === 0) return video
  return {
    ...video,
    submit: async (job, signal) => {
      try {
        return await video.submit(job, signal)
      } catch (error) {
        if (!(error instanceof ProviderFailure) || error.kind !== 'unknown') throw error
        if (!statuses.includes(error.status)) throw error
        throw new ProviderFailure('not_delivered', error.message, { status: error.status, cause: error })
      }
    },
  }
}
