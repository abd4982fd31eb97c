/** `/v1/video/create` and `/v1/video/query`. */
import { Type, type Static } from 'typebox'

import { ModelId, TaskId } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { Metadata, RequestMetadata } from '../metadata.ts'
import { errorsOfBodies, errorsOfTasks, type Operation } from '../operation.ts'
import { webhookParameters } from '../webhook-parameters.ts'
import {
  CharacterTimestamps,
  CharacterUrl,
  EnhancedPrompt,
  Failure,
  Notice,
  ImageRoles,
  Images,
  Private,
  Prompt,
  referenceClips,
  Sound,
  Status,
  UpdatedAt,
  VideoUrl,
  waitQuery,
  Watermark,
} from './video-fields.ts'

/** `POST /v1/video/create` for models of family A. */
export const FamilyAVideoTask = Type.Object(
  {
    model: ModelId,
    prompt: Prompt,
    enhance_prompt: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to rewrite the prompt and translate it into English.',
      }),
    ),
    enable_upsample: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether to upscale the video.' }),
    ),
    aspect_ratio: Type.Optional(
      Type.String({ enum: ['16:9', '9:16'], description: 'Landscape (`16:9`) or portrait (`9:16`).' }),
    ),
    images: Type.Optional(Images('Reference images, as URLs or data URIs.')),
    image_roles: Type.Optional(ImageRoles),
    ...referenceClips,
    sound: Type.Optional(Sound),
    ...webhookParameters('video'),
    metadata: Type.Optional(RequestMetadata),
  },
  { title: 'Family A' },
)

/** `POST /v1/video/create` for models of family B. */
export const FamilyBVideoTask = Type.Object(
  {
    model: ModelId,
    prompt: Prompt,
    images: Images('Reference images, as URLs or data URIs. At least one.'),
    image_roles: Type.Optional(ImageRoles),
    ...referenceClips,
    sound: Type.Optional(Sound),
    orientation: Type.Optional(
      Type.String({
        enum: ['portrait', 'landscape'],
        default: 'landscape',
        description: 'Orientation of the video.',
      }),
    ),
    size: Type.Optional(
      Type.String({
        enum: ['small', 'large'],
        default: 'small',
        description: 'Resolution: `small` is about 720p, `large` about 1080p.',
      }),
    ),
    duration: Type.Optional(
      Type.Integer({ enum: [10, 15, 25], default: 10, description: 'Duration of the video in seconds.' }),
    ),
    watermark: Type.Optional(Watermark),
    private: Type.Optional(Private),
    character_url: Type.Optional(CharacterUrl),
    character_timestamps: Type.Optional(CharacterTimestamps),
    ...webhookParameters('video'),
    metadata: Type.Optional(RequestMetadata),
  },
  { title: 'Family B' },
)

/** The response to `POST /v1/video/create`. */
export const CreatedVideoTask = Type.Object({
  id: TaskId,
  status: Status,
  status_update_time: UpdatedAt,
  enhanced_prompt: EnhancedPrompt,
})
export type CreatedVideoTask = Static<typeof CreatedVideoTask>

/** The response to `GET /v1/video/query`, and the JSON response to `GET /v1/videos/{id}/content`. */
export const VideoTaskView = Type.Object({
  id: TaskId,
  status: Status,
  video_url: VideoUrl,
  enhanced_prompt: EnhancedPrompt,
  status_update_time: UpdatedAt,
  error: Failure,
  notice: Notice,
  metadata: Type.Optional(Metadata),
})
export type VideoTaskView = Static<typeof VideoTaskView>

export const videoTaskOperations = {
  createVideoTask: {
    id: 'createVideoTask',
    method: 'POST',
    path: '/v1/video/create',
    summary: 'Create a video task',
    description:
      'Creates a task that generates a video, with the parameters of the create-and-query API. Read the task with `GET /v1/video/query` until it is completed. The cost is held now and charged when the video is completed.',
    access: 'key',
    scopes: ['create'],
    limit: 'create',
    creates: true,
    body: {
      form: null,
      json: [FamilyAVideoTask, FamilyBVideoTask],
      sizeBytesMax: 88 * mebibyte,
      spoolsTexts: true,
    },
    answer: { description: 'The created task.', schema: CreatedVideoTask },
    errors: [...errorsOfBodies, 'invalid_image', 'invalid_file_format', ...errorsOfTasks],
  },
  queryVideoTask: {
    id: 'queryVideoTask',
    method: 'GET',
    path: '/v1/video/query',
    summary: 'Query a video task',
    description:
      'Returns the current state of a video task. With `wait`, the response is delayed until the task ends.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: {
      optionalQuery: { id: Type.String({ description: 'Id of the task. Required.' }), ...waitQuery },
    },
    answer: { description: 'The current state of the task.', schema: VideoTaskView },
    errors: ['missing_parameter', 'invalid_parameter', 'task_not_found'],
  },
} as const satisfies Record<string, Operation>
