/** Fields that the video operations share. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Progress, ReadByEndpoint, taskErrorFields, TaskId, Time } from '../fields.ts'
import { Metadata } from '../metadata.ts'
import { Currency, Micros } from '../money.ts'

/** The states of a task. Some responses to a creation also use `queued`. */
export const videoStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type VideoStatus = (typeof videoStatuses)[number]

export const promptCharactersMax = 32_000

/** A file in a form; in JSON a data URI, a URL or `{ image_url }`. The parameter reader recognizes `x-image`. */
export const Image = (description: string) =>
  Type.Unsafe<unknown>({ type: 'string', format: 'binary', description, 'x-image': true })

/** A list of URLs or data URIs. Each item is read like a single image. */
export const Images = (description: string) =>
  Type.Unsafe<unknown>({ type: 'array', items: { type: 'string' }, description, 'x-image': true })

export const Prompt = Type.String({
  minLength: 1,
  maxLength: promptCharactersMax,
  description: 'Description of the video to generate.',
})

export const Watermark = Type.Boolean({
  default: true,
  description: 'Whether the video carries a watermark.',
})

export const Private = Type.Boolean({ default: false, description: 'Whether to keep the video unpublished.' })

export const Sound = Type.Boolean({
  default: true,
  description:
    'Whether the video has sound. Only for models whose `sound` in `GET /v1/models` is `optional`; others ignore it.',
})

/** A file in a form, or a URL. Unlike an image it may come only once. */
const clip = (content: string, kind: 'video' | 'audio') =>
  ReadByEndpoint({ type: 'string', format: 'binary', description: `${content} ${clipRules(kind)}` })

const clipRules = (kind: string) =>
  `At most 60 seconds long: a file (only on \`POST /v1/videos\`) or a URL. Only for models whose \`reference_${kind}\` in \`GET /v1/models\` is true; others ignore it.`

/** The video and the audio that a new video is made from. */
export const referenceClips = {
  reference_video: Type.Optional(clip('An MP4 video that the new video is based on.', 'video')),
  reference_audio: Type.Optional(clip('Audio that the new video is based on.', 'audio')),
}

export const imageRoles = ['first_frame', 'last_frame', 'reference', 'style'] as const
/** How a reference image is used: shown first or last, as something that the video shows, or for the style. */
export type ImageRole = (typeof imageRoles)[number]

export const ImageRoles = ReadByEndpoint({
  type: 'array',
  items: { type: 'string', enum: [...imageRoles] },
  description:
    'The role of each image, in the same order. Only for models that have several roles in `GET /v1/models`. Default: the roles of the model in their order.',
})

export const CharacterUrl = Type.String({
  maxLength: 8_192,
  description: 'URL of a video from which to create a character for this video.',
})

export const CharacterTimestamps = Type.String({
  maxLength: 64,
  description:
    'The part of the character video to use: `<start>,<end>` in seconds, between one and three seconds long.',
})

const TaskModel = Type.String({
  description: 'The model that generates the video, by the name in the request: its id or an alias.',
})

const CreatedAt = Time('When the task was created.')

export const UpdatedAt = Time('When the status last changed.')

const Seconds = Type.Integer({ description: 'Duration of the video in seconds.' })

const Size = Type.String({ description: 'Size of the video, as given in the request.' })

export const EnhancedPrompt = Type.String({
  description:
    'The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original.',
})

export const VideoUrl = Nullable(
  Type.String({ description: 'Signed URL of the video; null until the task is completed.' }),
)

const RemixedFrom = Nullable(
  Type.String({ description: 'Id of the task that this video is a remix of; null if it is not a remix.' }),
)

export const Failure = Type.Optional(
  Type.Object(taskErrorFields, { description: 'Why the task failed. Present only if it failed.' }),
)

export const Notice = Type.Optional(
  Type.Object(
    {
      code: Type.String({ enum: ['response_lost'], description: 'What the notice is about.' }),
      message: Type.String({ description: 'The notice in a sentence.' }),
      until: Time('When the task fails, without a charge, if nothing more is learned about the video.'),
    },
    {
      description:
        'Present while the task waits because the response to the generation request was lost: the video may or may not be in the making.',
    },
  ),
)

export const Status = Type.String({
  enum: [...videoStatuses, 'queued', 'in_progress'],
  description:
    'State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`.',
})

const rangeOf = (description: string) =>
  Type.Optional(
    Type.Object(
      {
        min: Type.Integer({ minimum: 0, description: 'In the best case.' }),
        max: Type.Integer({ minimum: 0, description: 'In the worst case.' }),
      },
      { description },
    ),
  )

/** Estimates for a task that has not ended. Status reads under `/v1` have them as headers. */
export const estimateFields = {
  queue_position: rangeOf(
    'How many waiting tasks start before this one. Present while the task waits for a slot. The queue is fair across accounts, so tasks that arrive later may start first. Equal to the header `X-Queue-Position: <min>-<max>` of status reads.',
  ),
  time_left_seconds: rangeOf(
    'How many seconds it takes until the video is generated, from the durations of most earlier tasks of the model. Absent while it is unknown. Equal to the header `X-Time-Left: <min>-<max>` of status reads.',
  ),
}

/**
 * A video, wherever `/v1/videos` shows one: on create, read, list, remix and cancel, and in events. It has every field that
 * the reference has for one of them.
 */
const videoFields = {
  id: TaskId,
  object: ObjectType('video'),
  model: TaskModel,
  status: Status,
  progress: Progress,
  created_at: CreatedAt,
  seconds: Seconds,
  size: Size,
  video_url: VideoUrl,
  enhanced_prompt: EnhancedPrompt,
  status_update_time: UpdatedAt,
  remixed_from_video_id: RemixedFrom,
  metadata: Metadata,
  error: Failure,
  notice: Notice,
}

export const Video = Type.Object(videoFields, { title: 'Video' })
export type Video = Static<typeof Video>

/** The same under `/openai/v1`, with every field of the `openai` SDK's `Video` in the type that it has there. */
export const OpenAiVideo = Type.Object(
  {
    ...videoFields,
    status: Type.String({
      enum: ['queued', 'in_progress', 'completed', 'failed'],
      description: 'State of the task.',
    }),
    completed_at: Nullable(Time('When the video was completed; null until then.')),
    expires_at: Nullable(Time('When the video expires and can no longer be downloaded; null if unknown.')),
    prompt: Type.String({ description: 'The prompt of the request.' }),
    seconds: Type.String({ description: 'Duration of the video in seconds, as a string.' }),
    error: Nullable(Type.Object(taskErrorFields, { description: 'Why the task failed; null otherwise.' })),
    ...estimateFields,
  },
  { title: 'Under /openai/v1' },
)
export type OpenAiVideo = Static<typeof OpenAiVideo>

export const AnyVideo = Type.Union([Video, OpenAiVideo])

export const videoVariants = ['video', 'thumbnail', 'spritesheet'] as const

/** What a row of a list shows besides the video. It is apart, because the dialects define the fields of a video. */
export const VideoDetails = Type.Object(
  {
    prompt: Type.String({ description: 'The prompt of the request.' }),
    key_id: Type.String({ description: 'Id of the key that created the task.' }),
    hold_micros: Micros('Amount held for the task, which is its price.'),
    captured_micros: Nullable(Micros('Amount charged; null until the task has ended.')),
    currency: Currency,
    completed_at: Nullable(Time('When the video was completed; null until then.')),
    expires_at: Nullable(Time('When the video expires and can no longer be downloaded; null if unknown.')),
    variants: Type.Array(Type.String({ enum: [...videoVariants] }), {
      description:
        'The values of `variant` that `GET /v1/videos/{id}/content` accepts now; empty while there is no video. Images are made when they are first requested, which can fail for an unusual file.',
    }),
    ...estimateFields,
  },
  { description: 'More about the task. Only with `include=details`.' },
)
export type VideoDetails = Static<typeof VideoDetails>

/** A video in a list. */
export const ListedVideo = Type.Union([
  Type.Object({ ...Video.properties, details: Type.Optional(VideoDetails) }, { title: 'Video' }),
  Type.Object(
    { ...OpenAiVideo.properties, details: Type.Optional(VideoDetails) },
    { title: 'Under /openai/v1' },
  ),
])
export type ListedVideo = Static<typeof ListedVideo>

/** The data of a task's event: the task at that moment. */
export const VideoEvent = Type.Object({ ...videoFields, ...estimateFields })

/** Query parameters of long polling. */
export const waitQuery = {
  wait: Type.Integer({
    minimum: 0,
    maximum: 60,
    description:
      'Wait up to this many seconds for the task to complete or fail before responding. Equivalent to `Prefer: wait=<seconds>`.',
  }),
  until: Type.String({
    enum: ['final', 'change'],
    description:
      'With `change`, respond as soon as the status or the progress changes. Equivalent to `Prefer: wait=<seconds>, until=change`.',
  }),
}
