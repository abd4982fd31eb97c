/**
 * Sends claimed deliveries. It runs outside of the engine's invocations, so receivers that hang never occupy the engine.
 */
import type { KeyObject } from 'node:crypto'

import type { LimitFunction } from 'p-limit'

import type { Log } from '../../platform/log.ts'
import { count, measure } from '../../platform/metrics/metrics.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { openSecret } from '../../platform/sealed-secret.ts'
import type { Secret } from '../../platform/secret.ts'
import { repeatWhileUnavailable } from '../../platform/while-unavailable.ts'
import { SafeFetchError } from '../../safe-fetch/safe-fetch-error.ts'
import type { PostResponse, SafePost } from '../../safe-fetch/safe-post.ts'
import { signWebhook } from '../signing/sign-webhook.ts'
import { webhookSecretOwner } from '../signing/webhook-secret.ts'
import type { BuildBody } from './build-body.ts'
import {
  hasUnclaimedDelivery,
  recordAttempt,
  type AttemptOutcome,
  type ClaimedDelivery,
} from './delivery-store.ts'
import { judgeResponse, type Verdict } from './judge-response.ts'
import { nextPauseSeconds, type RetrySchedule } from './retry-schedule.ts'
import type { SenderPermits } from './sender-permits.ts'

/** How much of a response is stored for people who look for an error. */
const responseBytesMax = 1_024

export interface SenderDependencies {
  postgres: Postgres
  /** Hundreds of attempts that end at once must not occupy the connections that tasks need. */
  databaseLimit: LimitFunction
  log: Log
  safePost: SafePost
  permits: SenderPermits
  schedule: RetrySchedule
  /** An endpoint that has failed for so long is disabled. */
  failingSecondsMax: number
  /** The secrets that seal those of endpoints. */
  sealingSecrets: Secret[]
  privateKeys: KeyObject[]
  buildBody: BuildBody
  /** Counts work that would be forgotten with this process. */
  recordInProcess: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** The endpoint has room for another attempt, and something to send. */
  wake: (endpointId: string) => void
  /** An attempt has disabled the endpoint. */
  onDisabled: (endpointId: string, accountId: string) => Promise<void>
}

interface Attempt {
  verdict: Verdict
  response: PostResponse | undefined
  error: string | undefined
}

export type SendDeliveries = (deliveries: ClaimedDelivery[]) => void

export const createSender = (dependencies: SenderDependencies): SendDeliveries => {
  const { postgres, log, safePost, permits, schedule, failingSecondsMax } = dependencies
  const { sealingSecrets, privateKeys, buildBody, databaseLimit } = dependencies

  const attempt = async (delivery: ClaimedDelivery): Promise<Attempt> => {
    const { eventId, url, accountId, endpointId, secrets: sealed } = delivery
    const failed = (error: string): Attempt => ({
      verdict: { kind: 'retry', retryAfterSeconds: 0 },
      response: undefined,
      error,
    })
    const secrets = sealed.flatMap(
      (each) => openSecret(sealingSecrets, webhookSecretOwner(accountId), each) ?? [],
    )
    if (secrets.length === 0) {
      log.error({ endpointId }, 'webhook.secret-not-opened')
      return failed('The secret of the endpoint cannot be decrypted. Rotate it.')
    }
    const body = await databaseLimit(() => buildBody(delivery))
    const timestamp = Math.floor(Date.now() / 1000)
    const signature = signWebhook({ id: eventId, timestamp, body }, secrets, privateKeys)
    try {
      const headers = { 'content-type': 'application/json', ...signature }
      const response = await safePost.post(url, { headers, body, responseBytesMax })
      return { verdict: judgeResponse(response), response, error: undefined }
    } catch (error) {
      if (error instanceof SafeFetchError) return failed(error.message)
      throw error
    }
  }

  const describeOutcome = (
    delivery: ClaimedDelivery,
    { verdict, response, error }: Attempt,
  ): Pick<
    AttemptOutcome,
    'state' | 'pauseSeconds' | 'isGone' | 'hasResponded' | 'status' | 'error' | 'response'
  > => {
    const pauseSeconds =
      verdict.kind === 'retry'
        ? nextPauseSeconds(schedule, delivery.tries + 1, verdict.retryAfterSeconds)
        : undefined
    const isPending = pauseSeconds !== undefined
    return {
      state: verdict.kind === 'delivered' ? 'delivered' : isPending ? 'pending' : 'failed',
      pauseSeconds: pauseSeconds ?? null,
      isGone: verdict.kind === 'gone',
      hasResponded: verdict.kind === 'delivered' || verdict.kind === 'rejected',
      status: response?.status ?? null,
      error: error ?? null,
      // A zero byte is no text for PostgreSQL.
      response: response?.text.replaceAll('\0', '') ?? null,
    }
  }

  /** Returns how long the response took, and whether something else was to be sent. */
  const send = async (delivery: ClaimedDelivery) => {
    const { day, id, claimId, endpointId } = delivery
    const startedMs = performance.now()
    const made = await attempt(delivery)
    const durationMs = Math.round(performance.now() - startedMs)
    const described = describeOutcome(delivery, made)
    const result = made.verdict.kind === 'retry' ? 'failed' : made.verdict.kind
    count('kinora.webhooks.attempts', { result })
    measure('kinora.webhooks.attempt.duration', durationMs / 1000, { result })
    const { disabledAccountId, hasUnclaimed } = await repeatWhileUnavailable(
      () =>
        databaseLimit(() =>
          recordAttempt(
            postgres,
            { day, id, claimId, endpointId, durationMs, ...described },
            failingSecondsMax,
          ),
        ),
      log,
    )
    if (disabledAccountId !== undefined) {
      log.info({ endpointId, accountId: disabledAccountId }, 'webhook.endpoint-disabled')
      await dependencies.onDisabled(endpointId, disabledAccountId)
    }
    return { responseMs: made.response === undefined ? Infinity : durationMs, hasUnclaimed }
  }

  /**
   * Looks again after the commit and the return of the permit. Until then a tick may have found no room for a delivery that was
   * created after the record began. A delivery that is created after this look has a tick of its own, which finds room.
   */
  const hasWork = (endpointId: string): Promise<boolean> =>
    databaseLimit(() => hasUnclaimedDelivery(postgres, endpointId)).catch((error: unknown) => {
      log.warn({ err: error, endpointId }, 'webhook.not-read')
      return true
    })

  const sendAndWake = async (delivery: ClaimedDelivery): Promise<void> => {
    const { endpointId } = delivery
    const sent = await send(delivery).catch((error: unknown) => {
      // Its claim expires, and the delivery is repeated.
      log.warn({ err: error, endpointId }, 'webhook.not-sent')
      return undefined
    })
    permits.giveBack(endpointId, sent?.responseMs)
    const isNeeded = sent === undefined || sent.hasUnclaimed || (await hasWork(endpointId))
    if (isNeeded) dependencies.wake(endpointId)
  }

  return (deliveries) => {
    for (const delivery of deliveries) void dependencies.recordInProcess(() => sendAndWake(delivery))
  }
}
