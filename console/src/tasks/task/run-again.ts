/** Sends the request of a task once more, with everything that is still there. */
import type { CreateVideoParams, CreateVideoTaskParams, Model, Quote, RemixVideoParams } from '@kinora/client'

import { buildFields, emptyForm, findProblems, type VideoForm } from '../../playground/video/form.ts'
import { modelsQuery } from '../../playground/video/models/models-query.ts'
import { readOffer, taskPath, videoPath, type Endpoint, type Offer } from '../../playground/video/offers.ts'
import { queryClient } from '../../queries.ts'
import { kinora } from '../../service.ts'
import { sampleMark } from '../../start/start-steps.ts'
import type { TaskView } from './task-data.ts'

type Own = NonNullable<TaskView['own']>

/** To an endpoint that creates videos, or a remix of the same source. */
interface Request {
  endpoint: Endpoint | { sourceId: string }
  body: object
}

export interface Repetition {
  request: Request
  quote: Quote
  /** How many reference files were deleted with the end of the task. */
  files: number
  /** Usernames of characters that no longer exist, or that the prompt does not name. */
  characters: string[]
}

/** The mark of the first video of `kinora dev`, which a repetition is not. */
const readMetadata = ({ video }: Own): { metadata?: object } => {
  const kept = Object.entries(video.metadata ?? {}).filter(
    ([name, value]) => name !== 'sample' || value !== sampleMark.sample,
  )
  return kept.length === 0 ? {} : { metadata: Object.fromEntries(kept) }
}

const findLostCharacters = async ({ timeline: { request, details } }: Own): Promise<string[]> => {
  if (request.characters.length === 0) return []
  const known = new Set<string>()
  for await (const { username } of kinora.characters.list({ limit: 100 })) known.add(username)
  const prompt = details.prompt.toLowerCase()
  return request.characters.filter(
    (username) => !known.has(username) || !prompt.includes(`@${username.toLowerCase()}`),
  )
}

/** The endpoint that takes the options and needs no image; undefined if the model makes nothing without one. */
const chooseOffer = (model: Model | undefined, form: VideoForm): Offer | undefined =>
  (form.enhances ? ([taskPath, videoPath] as const) : ([videoPath, taskPath] as const))
    .map((endpoint) => model && readOffer(model, endpoint))
    .find((offer) => offer !== undefined && findProblems(form, offer).length === 0)

const readRequest = async (view: TaskView, own: Own): Promise<Request | undefined> => {
  const { request, details } = own.timeline
  const metadata = readMetadata(own)
  if (view.remixOf !== null)
    return {
      endpoint: { sourceId: view.remixOf },
      body: { prompt: details.prompt, size: view.size, ...metadata },
    }
  const models = await queryClient.ensureQueryData(modelsQuery)
  const form: VideoForm = {
    ...{ ...emptyForm, model: view.model, prompt: details.prompt, seconds: view.seconds ?? 0 },
    ...{ width: request.width, height: request.height, hasSound: request.sound },
    ...{ hasWatermark: request.watermark, isPrivate: request.private, style: request.style ?? '' },
    enhances: request.enhance_prompt,
  }
  const offer = chooseOffer(
    models.find(({ id }) => id === view.model),
    form,
  )
  return offer && { endpoint: offer.endpoint, body: { ...buildFields(form, offer, []), ...metadata } }
}

/** The generated types allow only what one of the families takes, and differ for a dry run. */
const send = ({ endpoint, body }: Request, isQuote: boolean): Promise<unknown> => {
  const params = { ...body, dry_run: isQuote } as unknown
  if (typeof endpoint === 'object') return kinora.videos.remix(endpoint.sourceId, params as RemixVideoParams)
  return endpoint === videoPath
    ? kinora.videos.create(params as CreateVideoParams)
    : kinora.videoTasks.create(params as CreateVideoTaskParams)
}

/** What would be sent, its price now, and what is left out; null if the model makes nothing without the files. */
export const prepareAgain = async (view: TaskView): Promise<Repetition | null> => {
  const { own } = view
  const request = own === null ? undefined : await readRequest(view, own)
  if (own === null || request === undefined) return null
  const [quote, characters] = await Promise.all([send(request, true), findLostCharacters(own)])
  return { request, quote: quote as Quote, files: own.timeline.request.files, characters }
}

/** Returns the id of the new task. */
export const runAgain = async ({ request }: Repetition): Promise<string> =>
  ((await send(request, false)) as { id: string }).id
