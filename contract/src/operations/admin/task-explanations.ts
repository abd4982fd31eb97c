/** `/admin/v1/tasks/{id}/explanation`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Time } from '../../fields.ts'
import { Currency, Micros } from '../../money.ts'
import type { Operation } from '../../operation.ts'

/** Why a task stands where it does. */
const taskCauses = [
  'completed',
  'queued',
  'running',
  'queue_full',
  'credential_refused',
  'breaker_open',
  'budget_spent',
  'provider_busy',
  'provider_unreachable',
  'provider_failed',
  'moderated',
  'request_invalid',
  'deadline',
  'cancelled',
  'download_failed',
  'unknown_outcome',
  'engine_lost',
] as const
export type TaskCause = (typeof taskCauses)[number]

/** Why a request created no task. */
const requestCauses = ['insufficient_funds', 'request_rejected'] as const

const Stage = Type.Object({
  name: Type.String({
    enum: ['queue', 'submit', 'provider', 'store', 'transcribe'],
    description:
      '`queue`: until the first submit, or until the transcription began. `submit`: until a provider had the job. `provider`: until the provider reported its outcome. `store`: until the result was downloaded, checked and stored. `transcribe`: until the recording was transcribed.',
  }),
  started_at: Time('When the stage began.'),
  ended_at: Nullable(Time('When the stage ended; null if it has not.')),
  duration_ms: Type.Integer({ description: 'Its duration so far, in milliseconds.' }),
})

const Attempt = Type.Object({
  provider: Nullable(Type.String({ description: 'Name of the provider; null if none could be called.' })),
  outcome: Type.String({
    description: 'How the call ended, as in `provider_attempts` of the task.',
  }),
  route_reason: Nullable(Type.String({ description: 'Why this provider was chosen; null if unknown.' })),
  skipped: Type.Array(
    Type.Object({
      provider: Type.String({ description: 'Name of the provider.' }),
      reason: Type.String({ description: 'Why the provider was not chosen.' }),
    }),
    { description: 'Providers that were considered and not chosen.' },
  ),
  failure_reason: Nullable(
    Type.String({ description: "The provider's message, redacted; null if nothing failed." }),
  ),
  started_at: Nullable(Time('When the call began; null if unknown.')),
  duration_ms: Nullable(Type.Integer({ description: 'Its duration in milliseconds; null if unknown.' })),
})

const Money = Type.Object(
  {
    hold_micros: Micros('Amount held for the task.'),
    captured_micros: Nullable(Micros('Amount charged; null until the task has ended.')),
    refunded_micros: Micros('Part of the charge that was refunded.'),
    cost_micros: Nullable(Micros('What the provider charges; null if that is unknown.')),
    currency: Currency,
  },
  { description: 'What the customer pays, and what it costs; null for a request.' },
)

const TaskExplanation = Type.Object({
  id: Type.String({ description: 'Id of the task, or of the request.' }),
  object: ObjectType('task.explanation'),
  kind: Type.String({
    enum: ['video', 'transcription', 'request'],
    description: 'What the id belongs to. A `request` was answered without creating a task.',
  }),
  status: Type.String({
    description:
      'State of the task: `pending`, `processing`, `completed` or `failed`; `rejected` for a request.',
  }),
  error_code: Nullable(Type.String({ description: 'The error code that the customer sees; null if none.' })),
  cause: Type.Object(
    {
      code: Type.String({ enum: [...taskCauses, ...requestCauses], description: 'The cause, for programs.' }),
      text: Type.String({ description: 'The cause, as sentences for people.' }),
    },
    { description: 'Why the task stands where it does, or why there is none.' },
  ),
  fix: Nullable(Type.String({ description: 'What to do; null if there is nothing to do.' })),
  stages: Type.Array(Stage, { description: 'The times of the stages that have begun, in order.' }),
  attempts: Type.Array(Attempt, {
    description:
      'The submits of a video to providers, in order. Of a transcription: the last request that failed, if any.',
  }),
  money: Nullable(Money),
  sentences: Type.Array(Type.String(), {
    description: 'Everything above as sentences, in the order in which to read them.',
  }),
})
export type TaskExplanation = Static<typeof TaskExplanation>

export const explanationOperations = {
  explainTask: {
    id: 'explainTask',
    method: 'GET',
    path: '/admin/v1/tasks/{id}/explanation',
    summary: 'Explain what happened to a task',
    description:
      'Explains where a task spent its time, which providers were tried and why, what they reported, what happened to the money, why the task stands where it does, and what to do. The id of a request that was rejected explains why it created no task. Messages of providers are included, and may quote what the customer sent.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      path: {
        id: Type.String({
          description: 'Id of the task, or of a request (`req_…`) that was to create one.',
        }),
      },
    },
    answer: { description: 'The explanation.', schema: TaskExplanation },
    errors: ['task_not_found'],
  },
} as const satisfies Record<string, Operation>
