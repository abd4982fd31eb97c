import { Type, type Static } from 'typebox'

/** The four words of a task's state, and `queued`, which only a family A creation reply uses. */
export const videoStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type VideoStatus = (typeof videoStatuses)[number]

const promptCharactersMax = 32_000

/**
 * A file in a form, or in JSON a data URI, a URL, or `{ image_url }`. The reader of parameters knows
 * this mark; OpenAPI shows it as binary.
 */
export const Picture = (description: string) =>
  Type.Unsafe<unknown>({ type: 'string', format: 'binary', description, 'x-picture': true })

const Prompt = Type.String({
  minLength: 1,
  maxLength: promptCharactersMax,
  description: 'What the video shows.',
})

const Watermark = Type.Boolean({ default: true, description: 'Whether the video carries a watermark.' })

export const sizesOfFamilyA = ['16x9', '720x1280'] as const
export const sizesOfFamilyB = ['720x1280', '1280x720', '480x480', '1080x1080'] as const
export const secondsOfFamilyB = [4, 8, 10, 12, 15, 25] as const

/** `POST /v1/videos` for family A. */
export const FamilyAVideoForm = Type.Object(
  {
    model: Type.String({ description: 'The model to use.' }),
    prompt: Prompt,
    seconds: Type.Integer({ minimum: 1, maximum: 60, description: 'Duration in seconds.' }),
    size: Type.String({ enum: [...sizesOfFamilyA], description: 'Landscape or portrait.' }),
    input_reference: Picture('The base image of the video.'),
    watermark: Type.Optional(Watermark),
  },
  { title: 'Family A' },
)

/** `POST /v1/videos` for family B. */
export const FamilyBVideoForm = Type.Object(
  {
    model: Type.String({ description: 'The model to use.' }),
    prompt: Prompt,
    seconds: Type.Integer({ enum: [...secondsOfFamilyB], description: 'Duration in seconds.' }),
    size: Type.String({ enum: [...sizesOfFamilyB], description: 'Width and height.' }),
    input_reference: Type.Optional(Picture('A reference image.')),
    watermark: Type.Optional(Watermark),
    private: Type.Optional(Type.Boolean({ default: false, description: 'Keep the video unpublished.' })),
    style: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'A style preset.' })),
  },
  { title: 'Family B' },
)

const TaskId = Type.String({ description: "The task's id." })
const Progress = Type.Integer({ minimum: 0, maximum: 100 })
const UnixSeconds = Type.Integer({ description: 'Unix time in seconds.' })
const VideoUrl = Type.Union([Type.String(), Type.Null()], {
  description: 'A link to the video once it is completed.',
})
const Failure = Type.Optional(
  Type.Object(
    { code: Type.String(), message: Type.String() },
    { description: 'Why the task failed; only there when it did.' },
  ),
)

/** The reply to `POST /v1/videos`. */
export const CreatedVideo = Type.Object({
  id: TaskId,
  object: Type.Literal('video'),
  model: Type.String(),
  status: Type.String({ enum: ['queued', 'pending'] }),
  progress: Progress,
  created_at: UnixSeconds,
  seconds: Type.Integer(),
  size: Type.String(),
})
export type CreatedVideo = Static<typeof CreatedVideo>

const Status = Type.String({
  enum: [...videoStatuses, 'queued', 'in_progress'],
  description: 'A client of the openai dialect reads queued and in_progress for the first two states.',
})

/** The reply to `GET /v1/videos/{id}` for a task of family A. */
export const FamilyAVideo = Type.Object(
  {
    id: TaskId,
    status: Status,
    progress: Progress,
    video_url: VideoUrl,
    enhanced_prompt: Type.String(),
    status_update_time: UnixSeconds,
    error: Failure,
  },
  { title: 'Family A' },
)

/** The reply to `GET /v1/videos/{id}` for a task of family B. */
export const FamilyBVideo = Type.Object(
  {
    id: TaskId,
    status: Status,
    progress: Progress,
    video_url: VideoUrl,
    model: Type.String(),
    seconds: Type.Integer(),
    size: Type.String(),
    error: Failure,
  },
  { title: 'Family B' },
)

export type VideoView = Static<typeof FamilyAVideo> | Static<typeof FamilyBVideo>
