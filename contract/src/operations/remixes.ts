/** Videos that are made from others: `/v1/videos/{id}/remix` and `/v1/videos/edits`. */
import { Type } from 'typebox'

import { ReadByEndpoint, taskId } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { RequestMetadata } from '../metadata.ts'
import { errorsOfBodies, errorsOfSources, errorsOfTasks, type Operation } from '../operation.ts'
import { webhookParameters } from '../webhook-parameters.ts'
import { AnyVideo, Prompt } from './video-fields.ts'
import { sizesOfFamilyB } from './videos.ts'

/** `POST /v1/videos/{id}/remix`. */
export const RemixBody = Type.Object({
  prompt: Prompt,
  size: Type.Optional(
    Type.String({
      enum: [...sizesOfFamilyB],
      description: 'Width and height of the new video in pixels. Defaults to the size of the original.',
    }),
  ),
  ...webhookParameters('video'),
  metadata: Type.Optional(RequestMetadata),
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
  ...webhookParameters('video'),
  metadata: Type.Optional(RequestMetadata),
})

export const remixOperations = {
  remixVideo: {
    id: 'remixVideo',
    method: 'POST',
    path: '/v1/videos/{id}/remix',
    summary: 'Remix a video',
    description:
      'Creates a new video from a completed one, with another prompt. The new video has the model and the duration of the original.',
    access: 'key',
    scopes: ['create'],
    limit: 'create',
    creates: true,
    parameters: { path: taskId },
    body: { form: [RemixBody], json: [RemixBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created task.', schema: AnyVideo },
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
    scopes: ['create'],
    limit: 'create',
    creates: true,
    body: { form: [EditBody], json: [EditBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created task.', schema: AnyVideo },
    errors: [...errorsOfBodies, ...errorsOfSources, 'upstream_error', ...errorsOfTasks],
  },
} as const satisfies Record<string, Operation>
