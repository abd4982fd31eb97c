import { ApiError, type ErrorCode } from '@kinora/contract/errors'
import type { newsOperations } from '@kinora/contract/operations/webhooks'

import type { Call, Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { News, VideoProvider } from '../../providers/port/video.ts'
import { stopUpstream } from '../../videos/lifecycle/discard-job.ts'
import { dayOfTaskId } from '../../videos/task-id.ts'
import { hearNews } from './apply-webhook.ts'
import type { NewsLinks } from './webhook-url.ts'

export interface BringNewsDependencies {
  postgres: Postgres
  providers: Providers
  links: NewsLinks
  log: Log
  /** Counts a delivery that was refused, so that they cannot be tried without end from one address. */
  countRefused: (address: string) => Promise<unknown>
  nudgeWatch: (provider: string, taskId: string) => void
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
export const bringNews = (dependencies: BringNewsDependencies): Handler<typeof newsOperations.bringNews> => {
  const { postgres, providers, links, log, countRefused, nudgeWatch, announce } = dependencies

  const refuse = async ({ address }: Call, code: ErrorCode): Promise<never> => {
    await countRefused(address)
    throw new ApiError(code)
  }

  const read = async (call: Call, readNews: NonNullable<VideoProvider['readNews']>): Promise<News> => {
    const body = await call.bytes()
    try {
      const signal = AbortSignal.any([call.signal, AbortSignal.timeout(readTimeoutMs)])
      const news = await readNews({ headers: call.headers, note: call.query['note'], body }, signal)
      if (!idShape.test(news.id)) throw new ProviderFailure('rejected', 'the delivery has no usable id')
      return news
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      const { provider = '', id: taskId = '' } = call.path
      if (error.kind === 'rejected') {
        log.warn({ provider, taskId, address: call.address, because: error.message }, 'news.refused')
        return refuse(call, 'invalid_signature')
      }
      // Whether it is genuine could not be found out; the provider brings it again.
      log.warn({ provider, taskId, err: error }, 'news.not-read')
      throw new ApiError('service_unavailable', { cause: error })
    }
  }

  return async (call) => {
    const { provider = '', id: taskId = '' } = call.path
    const day = dayOfTaskId(taskId)
    const video = providers.find(provider)?.video
    if (!links.isOurs(provider, taskId, call.query) || day === undefined || video?.readNews === undefined) {
      return refuse(call, 'resource_not_found')
    }
    const news = await read(call, video.readNews)
    const heard = await hearNews(postgres, video, { provider, taskId, day, news })
    switch (heard) {
      case 'found':
      case 'due':
        nudgeWatch(provider, taskId)
        log.info({ provider, taskId, heard }, 'news.heard')
        break
      case 'duplicate':
        log.warn({ provider, taskId }, 'news.duplicate-job')
        // Nobody waits for it, nor does who brought the news.
        stopUpstream(providers, provider, news.ref).catch((error: unknown) =>
          log.warn({ err: error, taskId }, 'video.not-stopped'),
        )
        break
      case 'elsewhere':
        log.warn({ provider, taskId }, 'news.of-another')
        break
      case 'repeat':
      case 'over':
      case 'known':
        log.info({ provider, taskId, heard }, 'news.late')
    }
    if (heard === 'found') announce([taskId])
    return { body: { heard: true } }
  }
}
