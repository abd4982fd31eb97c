import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import type { TObject } from 'typebox'

import type { Call, Handler } from '../../http/call.ts'
import { readMetadata } from '../../metadata/read-metadata.ts'
import type { Catalog } from '../../models/catalog.ts'
import { chooseModelOfTask } from '../../models/choose-model.ts'
import { deprecationHeaders } from '../../models/deprecation.ts'
import type { VideoModel } from '../../models/model.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'
import type { AdmitVideo } from '../queue/admit-video.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { dialectOf, presentVideo } from './present-video.ts'
import type { ReadTask } from './read-task.ts'
import { mediaIdOf } from './source-task.ts'
import { remixParameters } from './video-parameters.ts'

/** The provider of the source makes the remix. If it cannot, the request fails before a hold is placed. */
const assertCanRemix = (providers: Providers, { id, provider }: VideoTask) => {
  if (providers.find(provider)?.video?.canRemix === true) return
  throw new ApiError('upstream_error', {
    message: 'The provider that made this video cannot remix it. Nothing was charged.',
    detail: `${id} was made by ${provider}`,
    headers: { 'x-should-retry': 'false' },
  })
}

export interface RemixDependencies {
  catalog: Catalog
  providers: Providers
  readTask: ReadTask
  admitVideo: AdmitVideo
  readWebhook: TaskWebhooks['read']
}

/** The video to remix, and how the endpoint names it. */
interface RemixSource {
  id: string
  param: string
  parametersOf: (model: VideoModel) => TObject
}

/** Creates a task that makes a new video from a completed one. */
export const remix = async (
  { catalog, providers, readTask, admitVideo, readWebhook }: RemixDependencies,
  call: Call,
  { id, param, parametersOf }: RemixSource,
) => {
  const { caller } = call
  const source = await readTask(id, caller.accountId)
  const model = chooseModelOfTask(catalog, caller, source)
  if (model.kind !== 'video' || source.family !== 'B') {
    throw new ApiError('invalid_parameter', {
      param,
      message: `Videos of '${source.modelName}' cannot be remixed.`,
    })
  }
  const given = call.read(parametersOf(model)) as { prompt: string; size?: string; webhook_url?: string }
  const webhook = readWebhook('video', given.webhook_url, call.fields)
  const { prompt, size = source.order.size } = given
  const metadata = readMetadata(call.fields.value('metadata'))
  const mediaId = mediaIdOf(source)
  assertCanRemix(providers, source)
  const { seconds, width, height, watermark, isPrivate, style, sound } = source.order
  const order: VideoOrder = {
    prompt,
    seconds,
    size,
    width,
    height,
    ...model.sizes[size],
    watermark,
    isPrivate,
    ...(style !== undefined && { style }),
    ...(sound !== undefined && { sound }),
    ...(metadata !== undefined && { metadata }),
    remixOf: { taskId: source.id, mediaId },
  }
  const { provider: pinnedTo } = source
  const admission = { caller, model, createdVia: 'remix', order, webhook, pinnedTo } as const
  const headers = deprecationHeaders(model, call)
  if (call.wantsQuote) return { headers, body: await admitVideo.quote({ ...admission, images: [] }) }
  const responseOf = (task: VideoTask) => ({ headers, body: presentVideo(task, null, dialectOf(call)) })
  const responseToStore = (task: VideoTask) => call.responseToStore(task.id, responseOf(task))
  return responseOf(await admitVideo({ ...admission, images: [], responseToStore }))
}

export const remixVideo =
  (dependencies: RemixDependencies): Handler<typeof operations.remixVideo> =>
  (call) =>
    remix(dependencies, call, { id: call.path.id, param: 'id', parametersOf: remixParameters })
