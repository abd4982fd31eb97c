import type { Upstream } from '../kit/http/upstream-http.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'

/** The create endpoints that accept a model. */
export interface Endpoints {
  create: boolean
  videos: boolean
}

const cacheMs = 10 * 60_000

/** Every service with this protocol has the create-and-query endpoints. */
export const createOnly: Endpoints = { create: true, videos: false }

/** Finds the endpoints of a model; another Kinora gateway lists them with its models. */
export function endpointsAt(upstream: Upstream): (model: string, signal: AbortSignal) => Promise<Endpoints> {
  const known = new Map<string, { endpoints: Endpoints; untilMs: number }>()

  async function ask(model: string, signal: AbortSignal): Promise<Endpoints> {
    const path = `/v1/models/${encodeURIComponent(model)}`
    const alsoFine = [400, 404, 405, 501]
    const answer = await upstream.callJson({ what: 'models', method: 'GET', path, alsoFine, signal })
    const listed = member(answer.body, 'endpoints')
    const paths = Array.isArray(listed) ? listed.map(textOf) : []
    const endpoints = { create: paths.includes('/v1/video/create'), videos: paths.includes('/v1/videos') }
    return endpoints.create || endpoints.videos ? endpoints : createOnly
  }

  return async (model, signal) => {
    const cached = known.get(model)
    if (cached !== undefined && cached.untilMs > performance.now()) return cached.endpoints
    try {
      const endpoints = await ask(model, signal)
      known.set(model, { endpoints, untilMs: performance.now() + cacheMs })
      return endpoints
    } catch (error) {
      // The job itself was not sent.
      if (error instanceof ProviderFailure && error.kind === 'unknown') {
        throw new ProviderFailure('not_delivered', error.message, { cause: error, isLocal: error.isLocal })
      }
      throw error
    }
  }
}
