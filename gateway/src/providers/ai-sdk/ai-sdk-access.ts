import { upstreamAt } from '../kit/http/upstream-http.ts'
import type { Access } from '../port/access.ts'
import { ProviderFailure } from '../port/failure.ts'
import { factoryOf, loadInstalled } from './ai-sdk-package.ts'

/**
 * Packages have no call in common that verifies a key without creating a job. So this finds out whether the package can
 * be loaded and whether something answers at the address; the key is not sent.
 */
export function aiSdkAccess(settings: {
  baseUrl: string
  package: string
  factory?: string | undefined
}): Access {
  const upstream = upstreamAt({ baseUrl: settings.baseUrl, connections: 1 })
  return {
    host: new URL(settings.baseUrl).host,
    check: async (signal) => {
      await factoryOf(settings, loadInstalled)
      const call = { what: 'test', method: 'GET', path: '', freshConnection: true, signal } as const
      const { status } = await upstream.callText(call)
      if (status >= 500) throw new ProviderFailure('unknown', `test answered ${status}`)
      return {
        kind: 'not-verified',
        why: `The package ${settings.package} can be loaded. Packages of the AI SDK have no call that verifies a key without creating a job, so submit one to verify it.`,
      }
    },
  }
}
