/** `/v1/videos`. */
import { Type } from 'typebox'

import {
  Deleted,
  FirstId,
  listFields,
  listQuery,
  ModelId,
  ObjectType,
  ReadByEndpoint,
  TaskId,
  taskId,
  Time,
} from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { metadataQuery, RequestMetadata } from '../metadata.ts'
import { errorsOfBodies, errorsOfSources, errorsOfTasks, type Operation } from '../operation.ts'
import { webhookParameters } from '../webhook-parameters.ts'
import {
  AnyVideo,
  CharacterTimestamps,
  CharacterUrl,
  Image,
  ListedVideo,
  OpenAiVideo,
  Private,
  Prompt,
  referenceClips,
  Sound,
  VideoEvent,
  videoVariants,
  waitQuery,
  Watermark,
} from './video-fields.ts'
import { VideoTaskView } from './video-tasks.ts'

export const sizesOfFamilyA = ['16x9', '720x1280'] as const
export const sizesOfFamilyB = ['720x1280', '1280x720', '480x480', '1080x1080'] as const
export const secondsOfFamilyB = [4, 8, 10, 12, 15, 25] as const

/** The defaults of `POST /v1/videos` that the `openai` SDKs document. They apply under `/openai/v1` only. */
export const openAiVideoDefaults = { model: 'sora-2', seconds: 4, size: '720x1280' } as const
const { model: defaultModel, seconds: defaultSeconds, size: defaultSize } = openAiVideoDefaults

/** `POST /v1/videos` for models of family A. */
export const FamilyAVideoForm = Type.Object(
  {
    model: ModelId,
    prompt: Prompt,
    seconds: Type.Integer({ minimum: 1, maximum: 60, description: 'Duration of the video in seconds.' }),
    size: Type.String({
      enum: [...sizesOfFamilyA],
      description: 'Landscape (`16x9`) or portrait (`720x1280`).',
    }),
    input_reference: Image('The image that the video starts from: a file, a URL or a data URI.'),
    ...referenceClips,
    sound: Type.Optional(Sound),
    watermark: Type.Optional(Watermark),
    ...webhookParameters('video'),
    metadata: Type.Optional(RequestMetadata),
  },
  { title: 'Family A' },
)

/** `POST /v1/videos` for models of family B. */
export const FamilyBVideoForm = Type.Object(
  {
    model: ModelId,
    prompt: Prompt,
    seconds: Type.Integer({ enum: [...secondsOfFamilyB], description: 'Duration of the video in seconds.' }),
    size: Type.String({
      enum: [...sizesOfFamilyB],
      description: 'Width and height of the video in pixels.',
    }),
    input_reference: Type.Optional(Image('A reference image: a file, a URL or a data URI.')),
    ...referenceClips,
    sound: Type.Optional(Sound),
    watermark: Type.Optional(Watermark),
    private: Type.Optional(Private),
    style: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        'x-demand': '1 to 64 letters, digits, hyphens or underscores, such as anime',
        description: "Name of a style preset, passed to the model's provider.",
      }),
    ),
    metadata: Type.Optional(RequestMetadata),
    character_url: Type.Optional(CharacterUrl),
    character_timestamps: Type.Optional(CharacterTimestamps),
    character_from_task: Type.Optional(
      Type.String({
        maxLength: 256,
        description: 'Id of a completed task of your account from which to create a character.',
      }),
    ),
    character_create: Type.Optional(
      ReadByEndpoint({
        type: 'object',
        properties: {
          create_self_portrait: {
            type: 'boolean',
            description: 'Accepted for compatibility. A character always gets a portrait.',
          },
          save_to_library: {
            type: 'boolean',
            description: "Whether to save the character in the account's list of characters.",
          },
        },
        description: 'How to create the character. Ignored if the request has no character video or task.',
      }),
    ),
    ...webhookParameters('video'),
  },
  { title: 'Family B' },
)

const VideoList = Type.Object({
  ...listFields(ListedVideo, 'The video tasks on this page.'),
  first_id: FirstId,
})

const listedStatus = '(pending|queued|processing|in_progress|completed|failed)'

/** The filters of the list. */
const videoFilters = {
  status: Type.String({
    pattern: `^${listedStatus}(,${listedStatus}){0,9}$`,
    'x-demand':
      'one or more of pending, processing, completed, failed, queued and in_progress with commas between them, such as queued,in_progress',
    description:
      'Only tasks in one of these states, such as `pending,processing`. `queued` and `in_progress` mean the same as `pending` and `processing`.',
  }),
  model: Type.String({
    maxLength: 256,
    description: 'Only tasks of this model. An alias finds the tasks that were created with it.',
  }),
  created_after: Time('Only tasks created at or after this time.'),
  created_before: Time('Only tasks created before this time.'),
  key_id: Type.String({ description: 'Only tasks that this key created.' }),
  q: Type.String({
    maxLength: 200,
    description:
      'Only tasks with this text in their prompt, in upper or lower case. The search reads tasks in the order of the list. If it takes too long to find a page, it is rejected with `invalid_parameter`; then use other filters as well.',
  }),
}

const DeletedVideo = Type.Object({ id: TaskId, object: ObjectType('video.deleted'), deleted: Deleted })

export const videoOperations = {
  createVideo: {
    id: 'createVideo',
    method: 'POST',
    path: '/v1/videos',
    summary: 'Create a video',
    description: `Creates a task that generates a video. Read the task with \`GET /v1/videos/{id}\` until it is completed, or follow its events. The cost is held now and charged when the video is completed; a failed task costs nothing. Under \`/openai/v1\`, \`model\`, \`seconds\` and \`size\` have the defaults of the \`openai\` SDKs: \`${defaultModel}\`, ${defaultSeconds} and \`${defaultSize}\`.`,
    access: 'key',
    scopes: ['create'],
    limit: 'create',
    creates: true,
    body: {
      form: [FamilyAVideoForm, FamilyBVideoForm],
      json: [FamilyAVideoForm, FamilyBVideoForm],
      sizeBytesMax: 88 * mebibyte,
      spoolsTexts: true,
    },
    answer: { description: 'The created task.', schema: AnyVideo },
    errors: [...errorsOfBodies, 'invalid_image', 'invalid_file_format', ...errorsOfSources, ...errorsOfTasks],
  },
  getVideo: {
    id: 'getVideo',
    method: 'GET',
    path: '/v1/videos/{id}',
    summary: 'Get a video',
    description:
      'Returns the current state of a video task, with a fresh link to the video once it is completed. With `wait`, the response is delayed until the task ends. Until then the headers `X-Queue-Position` and `X-Time-Left` (seconds) estimate its place in the queue and the time left, each as a range such as `3-12`, as far as they are known.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { path: taskId, optionalQuery: waitQuery },
    answer: { description: 'The current state of the task.', schema: AnyVideo },
    errors: ['invalid_parameter', 'task_not_found'],
  },
  listVideos: {
    id: 'listVideos',
    method: 'GET',
    path: '/v1/videos',
    summary: 'List videos',
    description:
      'Lists the video tasks of all keys of the account. A task is listed if all filters apply to it.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: {
      optionalQuery: {
        ...listQuery,
        ...videoFilters,
        ...metadataQuery,
        include: Type.String({
          enum: ['details'],
          description:
            'With `details`, each video has the object `details`: its prompt, price and estimates.',
        }),
      },
    },
    answer: { description: 'A page of video tasks.', schema: VideoList },
    errors: ['invalid_parameter'],
  },
  deleteVideo: {
    id: 'deleteVideo',
    method: 'DELETE',
    path: '/v1/videos/{id}',
    summary: 'Delete a video',
    description: 'Deletes a task that has ended, and its video. Cancel a running task before you delete it.',
    access: 'key',
    scopes: ['create'],
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The task was deleted.', schema: DeletedVideo },
    errors: ['task_not_found', 'task_not_completed', 'conflict'],
  },
  cancelVideo: {
    id: 'cancelVideo',
    method: 'POST',
    path: '/v1/videos/{id}/cancel',
    summary: 'Cancel a video',
    description:
      'Cancels a task whose video is not finished. The task fails with `task_cancelled`, and nothing is charged. If the task has ended, or its provider has already finished the video, the request has no effect.',
    access: 'key',
    scopes: ['create'],
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The state of the task after the request.', schema: AnyVideo },
    errors: ['task_not_found'],
  },
  getVideoContent: {
    id: 'getVideoContent',
    method: 'GET',
    path: '/v1/videos/{id}/content',
    summary: 'Download a video',
    description:
      'Returns the result of a completed task. By default the response is JSON with a link. With `variant`, or with `Accept: video/mp4` or `Accept: application/octet-stream`, the response is the file itself, or a redirect to it, which needs no API key; `Range` requests are supported. A thumbnail is a JPEG of one frame. A spritesheet is a JPEG of 16 frames at equal intervals, in 4 columns and 4 rows, in the order of reading; a frame is a quarter as wide and as high as the image. The response header `X-Spritesheet` has this layout, and the interval of the frames.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: {
      path: taskId,
      optionalQuery: {
        variant: Type.String({
          enum: [...videoVariants],
          description: 'Which file to download.',
        }),
      },
    },
    answer: { description: 'The result, as JSON or as a file.', schema: VideoTaskView, streams: true },
    errors: [
      'task_not_found',
      'task_not_completed',
      'task_failed',
      'variant_not_available',
      'media_expired',
      'range_not_satisfiable',
      'invalid_parameter',
    ],
  },
  followVideo: {
    id: 'followVideo',
    method: 'GET',
    path: '/v1/videos/{id}/events',
    summary: 'Stream the events of a video',
    description:
      'Streams the events of a task as server-sent events until the task ends. To resume a stream, send the id of the last received event in the `Last-Event-ID` header. If the key is revoked or the account is suspended, the stream ends with an event `error`, whose data is the error object.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: {
      path: taskId,
      optionalQuery: {
        last_event_id: Type.String({
          pattern: '^\\d{1,15}$',
          'x-demand': 'the id of an event, a number such as 12',
          description: 'Resume after this event. For clients that cannot set the `Last-Event-ID` header.',
        }),
      },
    },
    answer: {
      description: 'Server-sent events. The status is 204 if no event follows the given one.',
      contentType: 'text/event-stream',
      events: Type.Union([VideoEvent, OpenAiVideo]),
    },
    errors: ['task_not_found', 'invalid_parameter'],
  },
} as const satisfies Record<string, Operation>
