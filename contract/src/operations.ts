import { Type } from 'typebox'

import { Model, ModelList } from './models.ts'
import type { Operation } from './operation.ts'
import { CreatedVideo, FamilyAVideo, FamilyAVideoForm, FamilyBVideo, FamilyBVideoForm } from './videos.ts'

const mebibyte = 1_048_576

/** Every endpoint of the service. A path leads to its id here, and the id to the file that answers it. */
export const operations = {
  createVideo: {
    id: 'createVideo',
    method: 'POST',
    path: '/v1/videos',
    summary: 'Create a video task',
    access: 'key',
    limit: 'create',
    body: {
      form: [FamilyAVideoForm, FamilyBVideoForm],
      json: [FamilyAVideoForm, FamilyBVideoForm],
      sizeBytesMax: 88 * mebibyte,
    },
    answer: { description: 'The accepted task.', schema: CreatedVideo },
    errors: [
      'invalid_request',
      'request_too_large',
      'missing_parameter',
      'invalid_parameter',
      'invalid_image',
      'model_not_found',
      'model_access_denied',
      'subscription_expired',
      'quota_exceeded',
      'payment_failed',
      'insufficient_balance',
    ],
  },
  getVideo: {
    id: 'getVideo',
    method: 'GET',
    path: '/v1/videos/{id}',
    summary: 'Read a video task',
    access: 'key',
    limit: 'read',
    parameters: { path: { id: Type.String({ description: "The task's id." }) } },
    answer: { description: 'The task as it stands.', schema: Type.Union([FamilyAVideo, FamilyBVideo]) },
    errors: ['task_not_found'],
  },
  listModels: {
    id: 'listModels',
    method: 'GET',
    path: '/v1/models',
    summary: 'List the models this key may use',
    access: 'key',
    limit: 'read',
    answer: { description: 'The models, in a stable order.', schema: ModelList },
    errors: [],
  },
  getModel: {
    id: 'getModel',
    method: 'GET',
    path: '/v1/models/{id}',
    summary: 'Read one model',
    access: 'key',
    limit: 'read',
    parameters: { path: { id: Type.String({ description: "The model's id." }) } },
    answer: { description: 'The model.', schema: Model },
    errors: ['model_not_found', 'model_access_denied'],
  },
  getMedia: {
    id: 'getMedia',
    method: 'GET',
    path: '/media/{id}/{name}',
    summary: 'Download a result by its signed link',
    access: 'link',
    parameters: {
      path: {
        id: Type.String({ description: "The file's id." }),
        name: Type.String({ description: 'A file name for people; any name opens the file.' }),
      },
      query: {
        expires: Type.String({ description: 'Unix time in seconds after which the link no longer opens.' }),
        key: Type.String({ description: 'Which signing secret was used.' }),
        signature: Type.String(),
      },
    },
    answer: { description: 'The file; ranges are supported.', contentType: 'video/mp4' },
    errors: ['invalid_parameter', 'media_not_found', 'link_expired', 'media_expired'],
  },
  getOpenapi: {
    id: 'getOpenapi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This description',
    access: 'none',
    answer: { description: 'An OpenAPI 3.1 document.', schema: Type.Object({}) },
    errors: [],
  },
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations
