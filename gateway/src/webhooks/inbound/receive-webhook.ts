import { ApiError, type ErrorCode } from '@kinora/contract/errors'
import type { webhookOperations } from '@kinora/contract/operations/webhooks'

import type { Call, Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { WebhookEvent, VideoProvider } from '../../providers/port/video.ts'
import { cancelJob } from '../../videos/lifecycle/discard-job.ts'
import { dayOfTaskId } from '../../videos/task-id.ts'
import { applyWebhook } from './apply-webhook.ts'
import type { WebhookUrls } from './webhook-url.ts'

export interface ReceiveWebhookDependencies {
  postgres: Postgres
  providers: Providers
  links: WebhookUrls
  log: Log
  /** Counts refused deliveries per address, for the rate limit. */
  countRefused: (address: string) => Promise<unknown>
  wakePoller: (provider: string, taskId: string) => void
  /** Notifies watchers that these tasks have changed. */
  announce: (taskIds: string[]) => void
}

const readTimeoutMs = 12_000
/** Event ids that can be stored: printable ASCII. */
const idShape = /^[\x21-\x7e]{1,512}$/

/**
 * Receives a provider's webhook about a job. A URL with an invalid signature is refused before the body is read or the
 * database is queried, and a delivery that the provider did not sign has no effect. All other deliveries get a 200, so
 * that the provider stops sending them.
 */
export const receiveWebhook = (
  dependencies: ReceiveWebhookDependencies,
): Handler<typeof webhookOperations.receiveWebhook> => {
  const { postgres, providers, links, log, countRefused, wakePoller, announce } = dependencies

  const refuse = async ({ address }: Call, code: ErrorCode): Promise<never> => {
    await countRefused(address)
    throw new ApiError(code)
  }

  const read = async (
    call: Call<typeof webhookOperations.receiveWebhook>,
    readWebhook: NonNullable<VideoProvider['readWebhook']>,
  ): Promise<WebhookEvent> => {
    const body = await call.bytes()
    try {
      const signal = AbortSignal.any([call.signal, AbortSignal.timeout(readTimeoutMs)])
      const event = await readWebhook({ headers: call.headers, note: call.query.note, body }, signal)
      if (!idShape.test(event.id)) throw new ProviderFailure('rejected', 'the delivery has no valid event id')
      return event
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      const { provider, id: taskId } = call.path
      if (error.kind === 'rejected') {
        log.warn({ provider, taskId, address: call.address, err: error }, 'webhook.rejected')
        return refuse(call, 'invalid_signature')
      }
      // The signature could not be verified; the provider redelivers after an error.
      log.warn({ provider, taskId, err: error }, 'webhook.unreadable')
      throw new ApiError('service_unavailable', { cause: error })
    }
  }

  return async (call) => {
    const { provider, id: taskId } = call.path
    const day = dayOfTaskId(taskId)
    const video = providers.find(provider)?.video
    if (
      !links.isOurs(provider, taskId, call.query) ||
      day === undefined ||
      video?.readWebhook === undefined
    ) {
      return refuse(call, 'resource_not_found')
    }
    const event = await read(call, video.readWebhook)
    const effect = await applyWebhook(postgres, video, { provider, taskId, day, event })
    switch (effect) {
      case 'job_found':
      case 'poll_due':
        wakePoller(provider, taskId)
        log.info({ provider, taskId, effect }, 'webhook.received')
        break
      case 'duplicate_job':
      case 'job_too_late':
        log.warn({ provider, taskId, effect }, 'webhook.unwanted-job')
        // The response does not wait for the cancellation.
        cancelJob(providers, provider, event.ref).catch((error: unknown) =>
          log.warn({ err: error, taskId }, 'job.cancel-failed'),
        )
        break
      case 'other_task':
        log.warn({ provider, taskId }, 'webhook.other-job')
        break
      case 'redelivery':
      case 'task_ended':
      case 'outcome_known':
        log.info({ provider, taskId, effect }, 'webhook.ignored')
    }
    if (effect === 'job_found') announce([taskId])
    return { body: { received: true } }
  }
}
