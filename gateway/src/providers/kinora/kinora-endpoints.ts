import type { Upstream } from '../kit/http/upstream-http.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'

/** Which of the two ways to order a video takes a model. */
export interface Endpoints {
  create: boolean
  videos: boolean
}

const rememberedMs = 10 * 60_000

/** The create-and-query style is what everybody who speaks this dialect has. */
export const createOnly: Endpoints = { create: true, videos: false }

/** Answers how to find out which doors take a model: another gateway of our kind tells in its list of models. */
export function endpointsAt(upstream: Upstream): (model: string, signal: AbortSignal) => Promise<Endpoints> {
  const known = new Map<string, { endpoints: Endpoints; untilMs: number }>()

  async function ask(model: string, signal: AbortSignal): Promise<Endpoints> {
    const path = `/v1/models/${encodeURIComponent(model)}`
    const alsoFine = [400, 404, 405, 501]
    const answer = await upstream.callJson({ what: 'models', method: 'GET', path, alsoFine, signal })
    const told = member(answer.body, 'endpoints')
    const paths = Array.isArray(told) ? told.map(textOf) : []
    const endpoints = { create: paths.includes('/v1/video/create'), videos: paths.includes('/v1/videos') }
    return endpoints.create || endpoints.videos ? endpoints : createOnly
  }

  return async (model, signal) => {
    const remembered = known.get(model)
    if (remembered !== undefined && remembered.untilMs > Date.now()) return remembered.endpoints
    try {
      const endpoints = await ask(model, signal)
      known.set(model, { endpoints, untilMs: Date.now() + rememberedMs })
      return endpoints
    } catch (error) {
      // Whatever went wrong with the question, the job itself was not sent.
      if (error instanceof ProviderFailure && error.kind === 'unknown') {
        throw new ProviderFailure('not_delivered', error.message, { cause: error })
      }
      throw error
    }
  }
}
