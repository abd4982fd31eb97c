/** The last hour of a provider as one cell for each minute. */
import { providerMinutes, type Overview } from '@kinora/contract/operations/admin/overview'

import type { ProviderCalls } from './provider-minutes-store.ts'

type Minute = Overview['providers'][number]['minutes'][number]

const failingShareMin = 0.2
const slowFactor = 2
/** Shorter calls vary for reasons that nobody notices. */
const slowMsMin = 500

export const judgeMinute = ({
  calls,
  errors,
  p50Ms,
  hourP50Ms,
}: Pick<ProviderCalls, 'calls' | 'errors' | 'p50Ms' | 'hourP50Ms'>): Minute['state'] => {
  if (calls === 0) return 'none'
  if (errors >= calls * failingShareMin) return 'failing'
  if (p50Ms === null || hourP50Ms === null || p50Ms < slowMsMin) return 'healthy'
  return p50Ms > hourP50Ms * slowFactor ? 'slow' : 'healthy'
}

/** The 60 minutes up to `atSeconds`, oldest first. */
export const fillMinutes = (calls: ProviderCalls[], atSeconds: number): Minute[] => {
  const byStart = new Map(calls.map((each) => [each.at, each]))
  const last = Math.floor(atSeconds / 60) * 60
  return Array.from({ length: providerMinutes }, (_, index) => {
    const at = last - (providerMinutes - 1 - index) * 60
    const found = byStart.get(at)
    return {
      at,
      requests: found?.calls ?? 0,
      errors: found?.errors ?? 0,
      p95_ms: found?.p95Ms ?? null,
      state: found === undefined ? 'none' : judgeMinute(found),
    }
  })
}
