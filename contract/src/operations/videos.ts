import { Type, type Static } from 'typebox'

/** The four words of a task's state, and `queued`, which only a family A creation reply uses. */
export const videoStatuses = ['pending', 'processing', 'completed', 'failed'] as const
export type VideoStatus = (typeof videoStatuses)[number]

export const promptCharactersMax = 32_000
/**
 * A file in a form, or in JSON a data URI, a URL, or `{ image_url }`. The reader of parameters knows
 * this mark; OpenAPI shows it as binary.
 */
export const Image = (description: string) =>
  Type.Unsafe<unknown>({ type: 'string', format: 'binary', description, 'x-image': true })

const Prompt = Type.String({
  minLength: 1,
  maxLength: promptCharactersMax,
  description: 'What the video shows.',
})

const Watermark = Type.Boolean({ default: true, description: 'Whether the video carries a watermark.' })

export const sizesOfFamilyA = ['16x9', '720x1280'] as const
export const sizesOfFamilyB = ['720x1280', '1280x720', '480x480', '1080x1080'] as const
export const secondsOfFamilyB = [4, 8, 10, 12, 15, 25] as const

/**
 * A value that the door which takes it reads by itself, because it may come in several shapes. The reader
 * of parameters only sees whether it is there.
 */
const ReadByEndpoint = (schema: object) => Type.Unsafe<unknown>({ ...schema, 'x-read-by-endpoint': true })

/** Pictures as URLs or data URIs; marked like one picture, read like one picture each. */
const Images = (description: string) =>
  Type.Unsafe<unknown>({ type: 'array', items: { type: 'string' }, description, 'x-image': true })

const Private = Type.Boolean({ default: false, description: 'Keep the video unpublished.' })

const CharacterUrl = Type.String({
  maxLength: 8_192,
  description: 'A video of one to three seconds to build a character from.',
})
const Timestamps = Type.String({
  maxLength: 64,
  description: 'The part of that video to use: `<start>,<end>` in seconds, one to three seconds apart.',
})

/** `POST /v1/videos` for family A. */
export const FamilyAVideoForm = Type.Object(
  {
    model: Type.String({ description: 'The model to use.' }),
    prompt: Prompt,
    seconds: Type.Integer({ minimum: 1, maximum: 60, description: 'Duration in seconds.' }),
    size: Type.String({ enum: [...sizesOfFamilyA], description: 'Landscape or portrait.' }),
    input_reference: Image('The base image of the video.'),
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
    input_reference: Type.Optional(Image('A reference image.')),
    watermark: Type.Optional(Watermark),
    private: Type.Optional(Type.Boolean({ default: false, description: 'Keep the video unpublished.' })),
    style: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        'x-demand': '1 to 64 letters, digits, hyphens or underscores, such as anime',
        description: 'A style preset.',
      }),
    ),
    metadata: Type.Optional(
      ReadByEndpoint({ type: 'string', description: 'A JSON object of up to 16 values of your own.' }),
    ),
    character_url: Type.Optional(CharacterUrl),
    character_timestamps: Type.Optional(Timestamps),
    character_from_task: Type.Optional(
      Type.String({ maxLength: 256, description: 'A task of yours to take the character from.' }),
    ),
    character_create: Type.Optional(
      ReadByEndpoint({
        type: 'object',
        properties: { create_self_portrait: { type: 'boolean' }, save_to_library: { type: 'boolean' } },
        description: 'What to do with the character beside using it here.',
      }),
    ),
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

/** `POST /v1/video/create` for family A. */
export const FamilyAVideoTask = Type.Object(
  {
    model: Type.String({ description: 'The model to use.' }),
    prompt: Prompt,
    enhance_prompt: Type.Optional(
      Type.Boolean({ default: false, description: 'Rewrite the prompt, and translate it to English.' }),
    ),
    enable_upsample: Type.Optional(Type.Boolean({ default: false, description: 'Make the video larger.' })),
    aspect_ratio: Type.Optional(
      Type.String({ enum: ['16:9', '9:16'], description: 'Landscape or portrait.' }),
    ),
    images: Type.Optional(Images('Reference images.')),
  },
  { title: 'Family A' },
)

/** `POST /v1/video/create` for family B. */
export const FamilyBVideoTask = Type.Object(
  {
    model: Type.String({ description: 'The model to use.' }),
    prompt: Prompt,
    images: Images('Reference images.'),
    orientation: Type.Optional(
      Type.String({
        enum: ['portrait', 'landscape'],
        default: 'landscape',
        description: 'Which side is longer.',
      }),
    ),
    size: Type.Optional(
      Type.String({ enum: ['small', 'large'], default: 'small', description: 'About 720p, or 1080p.' }),
    ),
    duration: Type.Optional(Type.Integer({ enum: [10, 15, 25], default: 10, description: 'Seconds.' })),
    watermark: Type.Optional(Watermark),
    private: Type.Optional(Private),
    character_url: Type.Optional(CharacterUrl),
    character_timestamps: Type.Optional(Timestamps),
  },
  { title: 'Family B' },
)

/** The reply to `POST /v1/video/create`. */
export const CreatedVideoTask = Type.Object({
  id: TaskId,
  status: Status,
  status_update_time: UnixSeconds,
  enhanced_prompt: Type.String(),
})
export type CreatedVideoTask = Static<typeof CreatedVideoTask>

/** The reply to `GET /v1/video/query`, and to `GET /v1/videos/{id}/content` where JSON is wanted. */
export const VideoTaskView = Type.Object({
  id: TaskId,
  status: Status,
  video_url: VideoUrl,
  enhanced_prompt: Type.String(),
  status_update_time: UnixSeconds,
  error: Failure,
})
export type VideoTaskView = Static<typeof VideoTaskView>

const ShownMetadata = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]))

/** A video under `/openai/v1`, on create, read, list and remix alike: every field of the openai client's `Video`. */
export const OpenAiVideo = Type.Object(
  {
    id: TaskId,
    object: Type.Literal('video'),
    model: Type.String(),
    status: Type.String({ enum: ['queued', 'in_progress', 'completed', 'failed'] }),
    progress: Progress,
    created_at: UnixSeconds,
    completed_at: Type.Union([UnixSeconds, Type.Null()]),
    expires_at: Type.Union([UnixSeconds, Type.Null()], {
      description: 'When the video can no longer be read.',
    }),
    prompt: Type.String(),
    seconds: Type.String({ description: 'Duration in seconds, as text.' }),
    size: Type.String(),
    remixed_from_video_id: Type.Union([Type.String(), Type.Null()]),
    error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
    video_url: VideoUrl,
    metadata: ShownMetadata,
  },
  { title: 'Under /openai/v1' },
)
export type OpenAiVideo = Static<typeof OpenAiVideo>

/** What an event of a task carries: the task as it stood then. */
export const VideoEvent = Type.Object({
  id: TaskId,
  status: Status,
  progress: Progress,
  video_url: VideoUrl,
  error: Failure,
})
export type VideoEvent = Static<typeof VideoEvent>

/** `POST /v1/videos/{id}/remix`. */
export const RemixBody = Type.Object({
  prompt: Prompt,
  size: Type.Optional(Type.String({ enum: [...sizesOfFamilyB], description: 'Overrides width and height.' })),
})

/** The reply to a remix. */
export const RemixedVideo = Type.Object({
  id: TaskId,
  object: Type.Literal('video'),
  status: Type.String({ enum: ['pending', 'queued'] }),
  progress: Progress,
})
export type RemixedVideo = Static<typeof RemixedVideo>

/** A task in a list: what every family has, and what the caller attached to it. */
export const ListedVideo = Type.Object({
  id: TaskId,
  object: Type.Literal('video'),
  model: Type.String(),
  status: Status,
  progress: Progress,
  created_at: UnixSeconds,
  seconds: Type.Integer(),
  size: Type.String(),
  video_url: VideoUrl,
  remixed_from_video_id: Type.Union([Type.String(), Type.Null()]),
  metadata: ShownMetadata,
  error: Failure,
})
export type ListedVideo = Static<typeof ListedVideo>

export const VideoList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Type.Union([ListedVideo, OpenAiVideo])),
  has_more: Type.Boolean(),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
})

export const DeletedVideo = Type.Object({
  id: TaskId,
  object: Type.Literal('video.deleted'),
  deleted: Type.Literal(true),
})
