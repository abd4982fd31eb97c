import { ApiError, type ErrorCode } from '@kinora/contract/errors'
import type { webhookOperations } from '@kinora/contract/operations/webhooks'

import type { Call, Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { WebhookEvent, VideoProvider } from '../../providers/port/video.ts'
import { stopUpstream } from '../../videos/lifecycle/discard-job.ts'
import { dayOfTaskId } from '../../videos/task-id.ts'
import { applyWebhook } from './apply-webhook.ts'
import type { WebhookUrls } from './webhook-url.ts'

export interface ReceiveWebhookDependencies {
  postgres: Postgres
  providers: Providers
  links: WebhookUrls
  log: Log
  /** Counts a delivery that was refused, so that they cannot be tried without end from one address. */
  countRefused: (address: string) => Promise<unknown>
  wakePoller: (provider: string, taskId: string) => void
  /** Tells watchers that there is something new to read of these tasks. */
  announce: (taskIds: string[]) => void
}

const readTimeoutMs = 12_000
/** Everything else could not be written down. */
const idShape = /^[\x21-\x7e]{1,512}$/

/**
 * Takes news that a provider brings of one of its jobs. A made-up address is refused before anything is read or looked
 * up, and what the provider did not sign has no effect. Every other delivery is answered as heard, so that it stops coming.
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
      if (!idShape.test(event.id)) throw new ProviderFailure('rejected', 'the delivery has no usable id')
      return event
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      const { provider, id: taskId } = call.path
      if (error.kind === 'rejected') {
        log.warn({ provider, taskId, address: call.address, reason: error.message }, 'webhook.rejected')
        return refuse(call, 'invalid_signature')
      }
      // Whether it is genuine could not be found out; the provider brings it again.
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
    const heard = await applyWebhook(postgres, video, { provider, taskId, day, event })
    switch (heard) {
      case 'found':
      case 'due':
        wakePoller(provider, taskId)
        log.info({ provider, taskId, heard }, 'webhook.received')
        break
      case 'duplicate':
        log.warn({ provider, taskId }, 'webhook.duplicate-job')
        // Nobody waits for it, nor does who brought the news.
        stopUpstream(providers, provider, event.ref).catch((error: unknown) =>
          log.warn({ err: error, taskId }, 'video.not-stopped'),
        )
        break
      case 'elsewhere':
        log.warn({ provider, taskId }, 'webhook.other-job')
        break
      case 'repeat':
      case 'over':
      case 'known':
        log.info({ provider, taskId, heard }, 'webhook.late')
    }
    if (heard === 'found') announce([taskId])
    return { body: { received: true } }
  }
}
