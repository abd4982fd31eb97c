import type { Access, AccessTest } from '../../port/access.ts'
import { type Exchange, withExchanges } from '../../port/exchange.ts'
import { ProviderFailure } from '../../port/failure.ts'
import { explainFailure } from './explain-failure.ts'

const statusesOfKeys = new Set([401, 402, 403])

function findFailedStep(
  { kind }: ProviderFailure,
  exchange: Exchange | undefined,
): NonNullable<AccessTest['failedAt']> {
  if (exchange === undefined) return 'configuration'
  return kind === 'unauthorized' || statusesOfKeys.has(exchange.status ?? 0) ? 'key' : 'address'
}

/** Makes the call of a protocol that verifies address and key. It is no job, so it counts neither as a success nor as a failure. */
export async function testAccess(
  provider: string,
  { host, check }: Access,
  timeoutMs: number,
): Promise<AccessTest> {
  const exchanges: Exchange[] = []
  const beganAtMs = performance.now()
  const outcome = await withExchanges(
    (exchange) => exchanges.push(exchange),
    async () => {
      try {
        return await check(AbortSignal.timeout(timeoutMs))
      } catch (error) {
        if (error instanceof ProviderFailure) return error
        throw error
      }
    },
  )
  const measured = { durationMs: Math.round(performance.now() - beganAtMs) }
  if (outcome instanceof ProviderFailure) {
    const exchange = exchanges.at(-1)
    const message = explainFailure({ provider, host, failure: outcome, exchange })
    const failedAt = findFailedStep(outcome, exchange)
    return { ...measured, isOk: false, isKeyVerified: false, status: exchange?.status, failedAt, message }
  }
  const isKeyVerified = outcome.kind === 'accepted'
  const message = isKeyVerified ? `${host} accepted the key.` : `${host} answered. ${outcome.why}`
  const status = exchanges[0]?.status
  return { ...measured, isOk: true, isKeyVerified, status, failedAt: undefined, message }
}
