/** `/v1/audio/transcription-tasks`. */
import { Type, type Static } from 'typebox'

import {
  Deleted,
  FirstId,
  listFields,
  listQuery,
  Nullable,
  ObjectType,
  Progress,
  taskErrorFields,
  TaskId,
  taskId,
  Time,
} from '../fields.ts'
import { gibibyte, mebibyte } from '../limits.ts'
import { Metadata, metadataQuery } from '../metadata.ts'
import { errorsOfAudioFiles, errorsOfBodies, errorsOfTasks, type Operation } from '../operation.ts'
import { webhookParameters } from '../webhook-parameters.ts'
import { recordingFields, Transcription, transcriptFormats } from './audio.ts'

/** The form of `POST /v1/audio/transcription-tasks`. */
export const TranscriptionTaskForm = Type.Object({
  ...recordingFields,
  task: Type.Optional(
    Type.String({
      enum: ['transcribe', 'translate'],
      default: 'transcribe',
      description:
        '`transcribe` keeps the spoken language. `translate` produces English text, if the model supports it.',
    }),
  ),
  ...webhookParameters('transcription_task'),
})

export const TranscriptionTask = Type.Object({
  id: TaskId,
  object: ObjectType('transcription.task'),
  model: Type.String({ description: 'Id of the model that transcribes the recording.' }),
  task: Type.String({
    enum: ['transcribe', 'translate'],
    description: 'Whether the text stays in the spoken language or is translated into English.',
  }),
  status: Type.String({
    enum: ['pending', 'processing', 'completed', 'failed'],
    description: 'State of the task.',
  }),
  progress: Progress,
  created_at: Time('When the task was created.'),
  completed_at: Nullable(Time('When the task was completed; null until then.')),
  expires_at: Nullable(Time('When the transcript expires; null until the task is completed.')),
  duration: Type.Number({
    description: 'Duration of the recording in seconds. The price depends on it.',
  }),
  error: Nullable(Type.Object(taskErrorFields, { description: 'Why the task failed; null otherwise.' })),
  metadata: Type.Optional(Metadata),
})
export type TranscriptionTask = Static<typeof TranscriptionTask>

const TranscriptionTaskList = Type.Object({
  ...listFields(TranscriptionTask, 'The transcription tasks on this page.'),
  first_id: FirstId,
})

const DeletedTranscriptionTask = Type.Object({
  id: TaskId,
  object: ObjectType('transcription.task.deleted'),
  deleted: Deleted,
})

export const transcriptionTaskOperations = {
  createTranscriptionTask: {
    id: 'createTranscriptionTask',
    method: 'POST',
    path: '/v1/audio/transcription-tasks',
    summary: 'Create a transcription task',
    description:
      'Creates a task that transcribes a recording of up to 1 GiB. Read the task until it is completed, then read its transcript in any format.',
    access: 'key',
    scopes: ['create'],
    limit: 'create',
    creates: true,
    body: {
      form: [TranscriptionTaskForm],
      json: null,
      sizeBytesMax: gibibyte + mebibyte,
      fileBytesMax: gibibyte,
    },
    answer: { description: 'The created task.', schema: TranscriptionTask },
    errors: [...errorsOfBodies, ...errorsOfAudioFiles, 'audio_requires_payg', ...errorsOfTasks],
  },
  listTranscriptionTasks: {
    id: 'listTranscriptionTasks',
    method: 'GET',
    path: '/v1/audio/transcription-tasks',
    summary: 'List transcription tasks',
    description: 'Lists the transcription tasks of all keys of the account.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { optionalQuery: { ...listQuery, ...metadataQuery } },
    answer: { description: 'A page of transcription tasks.', schema: TranscriptionTaskList },
    errors: ['invalid_parameter'],
  },
  getTranscriptionTask: {
    id: 'getTranscriptionTask',
    method: 'GET',
    path: '/v1/audio/transcription-tasks/{id}',
    summary: 'Get a transcription task',
    description: 'Returns the current state of a transcription task.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The current state of the task.', schema: TranscriptionTask },
    errors: ['task_not_found'],
  },
  getTranscript: {
    id: 'getTranscript',
    method: 'GET',
    path: '/v1/audio/transcription-tasks/{id}/transcript',
    summary: 'Get the transcript of a task',
    description:
      'Returns the text of a completed transcription task. The transcript can be read in several formats, one per request.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: {
      path: taskId,
      optionalQuery: {
        response_format: Type.String({
          enum: [...transcriptFormats],
          default: 'json',
          description: 'Format of the response.',
        }),
      },
    },
    answer: { description: 'The text, in the requested format.', schema: Transcription, texts: true },
    errors: ['task_not_found', 'task_not_completed', 'task_failed', 'media_expired', 'invalid_parameter'],
  },
  deleteTranscriptionTask: {
    id: 'deleteTranscriptionTask',
    method: 'DELETE',
    path: '/v1/audio/transcription-tasks/{id}',
    summary: 'Delete a transcription task',
    description:
      'Deletes a transcription task with its recording and its text. A running task is stopped; the part already transcribed is charged.',
    access: 'key',
    scopes: ['create'],
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The task was deleted.', schema: DeletedTranscriptionTask },
    errors: ['task_not_found'],
  },
} as const satisfies Record<string, Operation>
