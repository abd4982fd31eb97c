import { Type } from 'typebox'

import { Character, CharacterBody, CharacterList, CharacterRename, DeletedCharacter } from './characters.ts'
import { ChatBody, ChatChunk, ChatCompletion } from './chat.ts'
import { Model, ModelList } from './models.ts'
import type { Operation } from './operation.ts'
import {
  CreatedVideo,
  CreatedVideoTask,
  DeletedVideo,
  FamilyAVideo,
  FamilyAVideoForm,
  FamilyAVideoTask,
  FamilyBVideo,
  FamilyBVideoForm,
  FamilyBVideoTask,
  RemixBody,
  RemixedVideo,
  VideoEvent,
  VideoList,
  VideoTaskView,
} from './videos.ts'

const mebibyte = 1_048_576

const taskId = { id: Type.String({ description: "The task's id." }) }
const characterId = { id: Type.String({ description: "The character's id." }) }

/** What a create may answer beside what its parameters can get wrong. */
const errorsOfSpending = [
  'subscription_expired',
  'quota_exceeded',
  'payment_failed',
  'insufficient_balance',
] as const
const errorsOfBodies = [
  'invalid_request',
  'request_too_large',
  'missing_parameter',
  'invalid_parameter',
] as const
const errorsOfModels = ['model_not_found', 'model_access_denied'] as const

const wait = Type.Integer({
  minimum: 0,
  maximum: 60,
  description:
    'Answer when the task changes, or after so many seconds. `Prefer: wait=<seconds>` asks the same.',
})

const page = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'How many to list.' }),
  after: Type.String({ description: 'List what comes after this id.' }),
  order: Type.String({ enum: ['asc', 'desc'], default: 'desc', description: 'Oldest or newest first.' }),
}

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
      ...errorsOfBodies,
      'invalid_image',
      'task_not_found',
      'task_not_completed',
      'task_failed',
      'media_expired',
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
  },
  getVideo: {
    id: 'getVideo',
    method: 'GET',
    path: '/v1/videos/{id}',
    summary: 'Read a video task',
    access: 'key',
    limit: 'read',
    parameters: { path: taskId, optionalQuery: { wait } },
    answer: { description: 'The task as it stands.', schema: Type.Union([FamilyAVideo, FamilyBVideo]) },
    errors: ['invalid_parameter', 'task_not_found'],
  },
  listVideos: {
    id: 'listVideos',
    method: 'GET',
    path: '/v1/videos',
    summary: "List the account's video tasks",
    access: 'key',
    limit: 'read',
    parameters: { optionalQuery: page },
    answer: { description: 'A page of tasks.', schema: VideoList },
    errors: ['invalid_parameter'],
  },
  deleteVideo: {
    id: 'deleteVideo',
    method: 'DELETE',
    path: '/v1/videos/{id}',
    summary: 'Delete a finished task and its video',
    access: 'key',
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The task is gone.', schema: DeletedVideo },
    errors: ['task_not_found', 'task_not_completed'],
  },
  cancelVideo: {
    id: 'cancelVideo',
    method: 'POST',
    path: '/v1/videos/{id}/cancel',
    summary: 'Cancel a task that has not ended; nothing is charged',
    access: 'key',
    limit: 'read',
    parameters: { path: taskId },
    answer: {
      description: 'The task, failed with `task_cancelled`.',
      schema: Type.Union([FamilyAVideo, FamilyBVideo]),
    },
    errors: ['task_not_found'],
  },
  getVideoContent: {
    id: 'getVideoContent',
    method: 'GET',
    path: '/v1/videos/{id}/content',
    summary:
      'The result of a completed task: as JSON, or its bytes where a caller asks for bytes or a variant',
    access: 'key',
    limit: 'read',
    parameters: {
      path: taskId,
      optionalQuery: {
        variant: Type.String({
          enum: ['video', 'thumbnail', 'spritesheet'],
          description: 'Which bytes to send.',
        }),
      },
    },
    answer: { description: 'The result.', schema: VideoTaskView, streams: true },
    errors: [
      'task_not_found',
      'task_not_completed',
      'task_failed',
      'variant_not_available',
      'media_expired',
      'invalid_parameter',
    ],
  },
  followVideo: {
    id: 'followVideo',
    method: 'GET',
    path: '/v1/videos/{id}/events',
    summary: "A task's events as they happen; `Last-Event-ID` resumes",
    access: 'key',
    limit: 'read',
    parameters: {
      path: taskId,
      optionalQuery: {
        last_event_id: Type.String({
          pattern: '^\\d{1,15}$',
          description: 'Go on after this event; for clients that cannot set the header.',
        }),
      },
    },
    answer: {
      description:
        'Server-sent events until the task has ended. 204 where nothing comes after the event that was named.',
      contentType: 'text/event-stream',
      events: VideoEvent,
    },
    errors: ['task_not_found', 'invalid_parameter'],
  },
  remixVideo: {
    id: 'remixVideo',
    method: 'POST',
    path: '/v1/videos/{id}/remix',
    summary: 'Make a new video out of a completed one',
    access: 'key',
    limit: 'create',
    parameters: { path: taskId },
    body: { form: [RemixBody], json: [RemixBody], sizeBytesMax: mebibyte },
    answer: { description: 'The accepted task.', schema: RemixedVideo },
    errors: [
      ...errorsOfBodies,
      'task_not_found',
      'task_not_completed',
      'task_failed',
      'media_expired',
      'upstream_error',
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
  },
  createVideoTask: {
    id: 'createVideoTask',
    method: 'POST',
    path: '/v1/video/create',
    summary: 'Create a video task',
    access: 'key',
    limit: 'create',
    body: { form: null, json: [FamilyAVideoTask, FamilyBVideoTask], sizeBytesMax: 88 * mebibyte },
    answer: { description: 'The accepted task.', schema: CreatedVideoTask },
    errors: [...errorsOfBodies, 'invalid_image', ...errorsOfModels, ...errorsOfSpending],
  },
  queryVideoTask: {
    id: 'queryVideoTask',
    method: 'GET',
    path: '/v1/video/query',
    summary: 'Read a video task',
    access: 'key',
    limit: 'read',
    parameters: { optionalQuery: { id: Type.String({ description: "The task's id; required." }), wait } },
    answer: { description: 'The task as it stands.', schema: VideoTaskView },
    errors: ['missing_parameter', 'invalid_parameter', 'task_not_found'],
  },
  createCharacter: {
    id: 'createCharacter',
    method: 'POST',
    path: '/vidB/v1/characters',
    summary: 'Create a character from a video or from a task',
    access: 'key',
    limit: 'create',
    body: { form: null, json: [CharacterBody], sizeBytesMax: mebibyte },
    answer: { description: 'The character.', schema: Character },
    errors: [...errorsOfBodies, 'task_not_found', 'task_not_completed', 'task_failed', 'media_expired'],
  },
  listCharacters: {
    id: 'listCharacters',
    method: 'GET',
    path: '/vidB/v1/characters',
    summary: "List the account's characters",
    access: 'key',
    limit: 'read',
    parameters: { optionalQuery: page },
    answer: { description: 'A page of characters.', schema: CharacterList },
    errors: ['invalid_parameter'],
  },
  getCharacter: {
    id: 'getCharacter',
    method: 'GET',
    path: '/vidB/v1/characters/{id}',
    summary: 'Read one character',
    access: 'key',
    limit: 'read',
    parameters: { path: characterId },
    answer: { description: 'The character.', schema: Character },
    errors: ['character_not_found'],
  },
  renameCharacter: {
    id: 'renameCharacter',
    method: 'PATCH',
    path: '/vidB/v1/characters/{id}',
    summary: 'Give a character another name',
    access: 'key',
    limit: 'read',
    parameters: { path: characterId },
    body: { form: null, json: [CharacterRename], sizeBytesMax: mebibyte },
    answer: { description: 'The character.', schema: Character },
    errors: [...errorsOfBodies, 'character_not_found'],
  },
  deleteCharacter: {
    id: 'deleteCharacter',
    method: 'DELETE',
    path: '/vidB/v1/characters/{id}',
    summary: 'Delete a character and its pictures',
    access: 'key',
    limit: 'read',
    parameters: { path: characterId },
    answer: { description: 'The character is gone.', schema: DeletedCharacter },
    errors: ['character_not_found'],
  },
  showCharacter: {
    id: 'showCharacter',
    method: 'GET',
    path: '/characters/{username}',
    summary: "A character's public page",
    access: 'none',
    parameters: {
      path: { username: Type.String({ description: "The character's name." }) },
      optionalQuery: {
        expires: Type.String({
          description: 'As in the link; only the page of a private character has these.',
        }),
        key: Type.String({ description: 'Which signing secret was used.' }),
        signature: Type.String(),
      },
    },
    answer: { description: 'A page for people.', contentType: 'text/html' },
    errors: ['invalid_parameter', 'character_not_found', 'link_expired'],
  },
  completeChat: {
    id: 'completeChat',
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Chat with a model; a video model answers with a video',
    access: 'key',
    limit: 'create',
    body: { form: null, json: [ChatBody], sizeBytesMax: 88 * mebibyte },
    answer: {
      description: 'The reply, streamed where asked.',
      schema: ChatCompletion,
      streams: true,
      events: ChatChunk,
    },
    errors: [
      ...errorsOfBodies,
      'invalid_image',
      'task_failed',
      'content_policy_violation',
      'upstream_error',
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
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
