import { upstreamAt } from '../kit/http/upstream-http.ts'
import { vendorErrorIn } from '../kit/http/vendor-error.ts'
import type { Access } from '../port/access.ts'
import { ProviderFailure } from '../port/failure.ts'

/** A public model, and a request id that no job has. */
const path = '/fal-ai/fast-sdxl/requests/00000000-0000-0000-0000-000000000000/status'

/**
 * The queue has no call about the account, so the status of a job that cannot exist is read. The vendor checks the key
 * first: a 404 or 422 with an error of its own means that the key was accepted.
 */
export function falAccess({ baseUrl, apiKey }: { baseUrl: string; apiKey: string | undefined }): Access {
  const credential = { authorization: `Key ${apiKey ?? ''}` }
  const upstream = upstreamAt({ baseUrl, credential, connections: 1 })
  return {
    host: new URL(baseUrl).host,
    check: async (signal) => {
      const { body, status } = await upstream.callJson({
        what: 'test',
        method: 'GET',
        path,
        alsoRead: [404, 422],
        freshConnection: true,
        signal,
      })
      if (vendorErrorIn(body) !== undefined) return { kind: 'accepted' }
      throw new ProviderFailure('unknown', `test answered ${status} without an error of this vendor`)
    },
  }
}
