/** Calls that verify a key, for several protocols. */
import type { Access, KeyFinding } from '../../port/access.ts'
import { ProviderFailure } from '../../port/failure.ts'
import { type Upstream, upstreamAt, type UpstreamSettings } from '../http/upstream-http.ts'

const keyAccepted: KeyFinding = { kind: 'accepted' }
const noKey: KeyFinding = { kind: 'not-verified', why: 'No key is configured, and the call needed none.' }
const notRefusedWithout: KeyFinding = {
  kind: 'not-verified',
  why: 'It did not refuse the same call without a key, so a wrong key is only noticed when a job is submitted.',
}

/** Reads a JSON document. A connection of its own shows that the provider can be reached now. */
export async function readForTest(
  upstream: Upstream,
  path: string,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<void> {
  const call = { what: 'test', method: 'GET', path, headers, freshConnection: true, signal } as const
  const { status, body } = await upstream.callJson(call)
  if (typeof body === 'object' && body !== null) return
  throw new ProviderFailure('unknown', `test answered ${status} without JSON`)
}

/** A document that only an account with a valid key can read. */
export function privateDocument(settings: UpstreamSettings, path: string): Access {
  const upstream = upstreamAt({ ...settings, connections: 1 })
  const hasKey = (settings.apiKey ?? '') !== ''
  return {
    host: new URL(settings.baseUrl).host,
    check: async (signal) => {
      await readForTest(upstream, path, signal)
      return hasKey ? keyAccepted : noKey
    },
  }
}

/** A document that some services show to everybody, so it is also read without the key. */
export function oftenPublicDocument(settings: UpstreamSettings, path: string): Access {
  const { host, check } = privateDocument(settings, path)
  const anonymous = upstreamAt({ ...settings, apiKey: undefined, connections: 1 })
  const call = { what: 'test without a key', method: 'GET', path } as const
  const isRefused = async (signal: AbortSignal): Promise<boolean> => {
    try {
      const { status } = await anonymous.callText({ ...call, signal })
      return status >= 400 && status < 500 && status !== 429
    } catch {
      return false
    }
  }
  return {
    host,
    check: async (signal) => {
      const finding = await check(signal)
      if (finding.kind !== 'accepted') return finding
      return (await isRefused(signal)) ? finding : notRefusedWithout
    },
  }
}
