/** Videos that are made from others: `/v1/videos/{id}/remix` and `/v1/videos/edits`. */
import { Type, type Static } from 'typebox'

import { ObjectType, Progress, ReadByEndpoint, taskId, TaskId } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { errorsOfBodies, errorsOfSources, errorsOfTasks, type Operation } from '../operation.ts'
import { Prompt } from './video-fields.ts'
import { OpenAiVideo, sizesOfFamilyB } from './videos.ts'

/** `POST /v1/videos/{id}/remix`. */
export const RemixBody = Type.Object({
  prompt: Prompt,
  size: Type.Optional(
    Type.String({
      enum: [...sizesOfFamilyB],
      description: 'Width and height of the new video in pixels. Defaults to the size of the original.',
    }),
  ),
})

/** `POST /v1/videos/edits`. */
export const EditBody = Type.Object({
  prompt: Prompt,
  video: ReadByEndpoint({
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string', description: 'Id of the completed video.' } },
    description: 'The video to edit: one of your completed videos. Uploaded videos are not supported.',
  }),
})

export const RemixedVideo = Type.Object({
  id: TaskId,
  object: ObjectType('video'),
  status: Type.String({ enum: ['pending', 'queued'], description: 'State of the task: not started yet.' }),
  progress: Progress,
})
export type RemixedVideo = Static<typeof RemixedVideo>

export const remixOperations = {
  remixVideo: {
    id: 'remixVideo',
    method: 'POST',
    path: '/v1/videos/{id}/remix',
    summary: 'Remix a video',
    description:
      'Creates a new video from a completed one, with another prompt. The new video has the model and the duration of the original.',
    access: 'key',
    limit: 'create',
    creates: true,
    parameters: { path: taskId },
    body: { form: [RemixBody], json: [RemixBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created task.', schema: Type.Union([RemixedVideo, OpenAiVideo]) },
    errors: [...errorsOfBodies, ...errorsOfSources, 'upstream_error', ...errorsOfTasks],
  },
  editVideo: {
    id: 'editVideo',
    method: 'POST',
    path: '/v1/videos/edits',
    summary: 'Edit a video',
    description:
      'Creates a new video from a completed one, as `POST /v1/videos/{id}/remix` does. The `openai` SDKs send the id of the video in the body.',
    access: 'key',
    limit: 'create',
    creates: true,
    body: { form: [EditBody], json: [EditBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created task.', schema: Type.Union([RemixedVideo, OpenAiVideo]) },
    errors: [...errorsOfBodies, ...errorsOfSources, 'upstream_error', ...errorsOfTasks],
  },
} as const satisfies Record<string, Operation>
