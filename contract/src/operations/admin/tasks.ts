/** `/admin/v1/tasks`. */
import { Type, type Static } from 'typebox'

import {
  Nullable,
  ObjectType,
  Page,
  pageQuery,
  periodQuery,
  taskErrorFields,
  taskId,
  Time,
} from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency, Micros } from '../../money.ts'
import { errorsOfBodies, errorsOfTasks, type Operation } from '../../operation.ts'
import { PriceLine } from '../account.ts'
import { ownerFields, ownerQuery } from './admin-fields.ts'

export const AdminTask = Type.Object({
  id: Type.String({ description: 'Id of the task.' }),
  object: ObjectType('task'),
  kind: Type.String({ enum: ['video', 'transcription'], description: 'Kind of task.' }),
  ...ownerFields,
  model: Type.String({ description: 'Id of the model.' }),
  provider: Nullable(
    Type.String({
      description:
        'Name of the provider; null for a transcription, because its segments can go to different providers.',
    }),
  ),
  status: Type.String({
    description: 'State of the task: `pending`, `processing`, `completed` or `failed`.',
  }),
  stage: Nullable(
    Type.String({ description: 'Internal stage of a task that has not ended; null once it has ended.' }),
  ),
  progress: Type.Integer({ description: 'Progress in percent.' }),
  error: Nullable(Type.Object(taskErrorFields, { description: 'Why the task failed; null otherwise.' })),
  hold_micros: Micros('Amount held for the task.'),
  captured_micros: Nullable(Micros('Amount charged; null until the task has ended.')),
  currency: Currency,
  created_at: Time('When the task was created.'),
  finished_at: Nullable(Time('When the task ended; null until then.')),
})
export type AdminTask = Static<typeof AdminTask>

export const routeReason = Type.String({ description: 'Why this provider was chosen.' })
export const skippedProviders = Type.Array(
  Type.Object({
    provider: Type.String({ description: 'Name of the provider.' }),
    reason: Type.String({ description: 'Why the provider was not chosen.' }),
  }),
  { description: 'Providers that were considered and not chosen.' },
)

const Decision = Type.Object(
  {
    provider: Type.String({ description: 'Name of the chosen provider.' }),
    reason: routeReason,
    skipped: skippedProviders,
  },
  { description: 'The current routing decision; null once the task has ended.' },
)

/** One call to a provider, without secrets. */
export const Exchange = Type.Object({
  what: Type.String({ description: 'Which call it was, such as `submit`.' }),
  method: Type.String({ description: 'HTTP method.' }),
  path: Type.String({ description: "Path below the provider's URL, without the query." }),
  status: Nullable(Type.Integer({ description: 'HTTP status; null if there was no response.' })),
  ms: Type.Integer({ description: 'Duration in milliseconds.' }),
  answer: Type.String({ description: 'Beginning of the response, or why there was none.' }),
})

const ProviderAttempt = Type.Object({
  attempt: Type.Integer({ description: 'Number of the attempt, counted from 1.' }),
  provider: Type.String({ description: 'Name of the provider.' }),
  upstream_model: Type.String({ description: "The provider's own name of the model." }),
  reason: Nullable(routeReason),
  skipped: skippedProviders,
  outcome: Type.String({
    enum: ['accepted', 'not_delivered', 'busy', 'unauthorized', 'rejected', 'moderated', 'unknown'],
    description:
      'How the submit ended. `unauthorized`: the provider rejected our credential. `unknown`: the provider may have accepted the job, but this could not be determined.',
  }),
  failure_reason: Nullable(
    Type.String({
      description:
        "Why the submit or the accepted job failed: the provider's message, redacted. It is not shown to callers.",
    }),
  ),
  is_duplicate: Type.Boolean({
    description:
      'Whether the provider accepted a job although another job had been accepted. It is not charged.',
  }),
  started_at: Time('When the attempt started.'),
  ended_at: Time('When the attempt ended.'),
  exchanges: Type.Array(Exchange, { description: 'The calls to the provider.' }),
})
export type ProviderAttempt = Static<typeof ProviderAttempt>

const Attempts = Type.Object(
  {
    runs: Type.Integer({ description: 'How often the task was handed to the engine.' }),
    submits: Type.Integer({ description: 'Submits to providers so far.' }),
    refusals: Type.Integer({ description: 'Submits that a provider definitely rejected.' }),
    submitted_at: Nullable(Time('When the job was accepted; null until then.')),
    deadline_at: Time('When the task fails if it is not completed.'),
  },
  { description: 'Counters of a task that has not ended; null once it has ended.' },
)

const AdminTaskDetail = Type.Object({
  ...AdminTask.properties,
  prices: Type.Array(PriceLine, { description: 'How the price was calculated.' }),
  refunded_micros: Micros('Part of the charge that was refunded.'),
  cost_micros: Nullable(
    Micros('What the provider charges; null if no provider has accepted the task or its costs are unknown.'),
  ),
  retried_from: Nullable(
    Type.String({ description: 'Id of the failed task that this task retries; null if it is not a retry.' }),
  ),
  upstream: Type.Unknown({ description: "Reference to the provider's job; null if there is none." }),
  attempts: Nullable(Attempts),
  decision: Nullable(Decision),
  provider_attempts: Type.Array(ProviderAttempt, {
    description: 'All attempts to submit the task to a provider, in order.',
  }),
  events: Type.Array(
    Type.Object({
      at: Time('When the event happened.'),
      kind: Type.String({ description: 'Kind of event, such as `accepted`.' }),
      data: Type.Unknown({ description: 'Details of the event.' }),
    }),
    { description: 'The events of the task, in order.' },
  ),
})

/** What the customer sent. It is apart from the task, so that a role can be allowed to read tasks without it. */
const TaskOrder = Type.Object({
  id: Type.String({ description: 'Id of the task.' }),
  object: ObjectType('task.order'),
  account_id: Type.String({ description: 'Id of the account.' }),
  prompt: Nullable(Type.String({ description: 'The prompt; null if there is none.' })),
  order: Type.Unknown({ description: 'The validated parameters of the task.' }),
})

export const TaskResolution = Type.Object({
  action: Type.String({
    enum: ['fail', 'retry'],
    description:
      '`fail`: the task fails with `upstream_error`, and its hold is released. `retry`: another route gets the task.',
  }),
})

const listedState = '(pending|processing|completed|failed)'

export const taskOperations = {
  listTasks: {
    id: 'listTasks',
    method: 'GET',
    path: '/admin/v1/tasks',
    summary: 'Search tasks',
    description:
      'Lists the tasks of all accounts that match the given filters, newest first, without their prompts.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        ...ownerQuery,
        model: Type.String({ description: 'Only this model.' }),
        provider: Type.String({ description: 'Only this provider.' }),
        status: Type.String({
          pattern: `^${listedState}(,${listedState}){0,3}$`,
          'x-demand':
            'one or more of pending, processing, completed and failed with commas between them, such as pending,processing',
          description: 'Only tasks in one of these states, such as `pending,processing`.',
        }),
        error_code: Type.String({ description: 'Only tasks that failed with this code.' }),
        ...periodQuery,
      },
    },
    answer: { description: 'A page of tasks.', schema: Page(AdminTask) },
    errors: ['invalid_parameter'],
  },
  getTask: {
    id: 'getTask',
    method: 'GET',
    path: '/admin/v1/tasks/{id}',
    summary: 'Get a task with its history',
    description:
      'Returns a task with its price and events, and with all attempts to submit it to a provider. Its prompt and parameters are in the order of the task.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: taskId },
    answer: { description: 'The task.', schema: AdminTaskDetail },
    errors: ['task_not_found'],
  },
  getTaskOrder: {
    id: 'getTaskOrder',
    method: 'GET',
    path: '/admin/v1/tasks/{id}/order',
    summary: 'Get the prompt and parameters of a task',
    description:
      'Returns the prompt and the parameters that the customer sent. Each read is recorded in the audit log.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: taskId },
    answer: { description: 'The order.', schema: TaskOrder },
    errors: ['task_not_found'],
  },
  retryTask: {
    id: 'retryTask',
    method: 'POST',
    path: '/admin/v1/tasks/{id}/retry',
    summary: 'Retry a failed task',
    description:
      'Creates a new task with the parameters of a failed one. The account is charged as for any task.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: taskId },
    answer: { description: 'The new task.', schema: AdminTask },
    errors: ['task_not_found', 'task_not_failed', 'conflict', 'account_suspended', ...errorsOfTasks],
  },
  cancelTask: {
    id: 'cancelTask',
    method: 'POST',
    path: '/admin/v1/tasks/{id}/cancel',
    summary: 'Cancel a task',
    description: 'Cancels a task that has not ended. Nothing is charged.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: taskId },
    answer: { description: 'The state of the task after the request.', schema: AdminTask },
    errors: ['task_not_found'],
  },
  resolveTask: {
    id: 'resolveTask',
    method: 'POST',
    path: '/admin/v1/tasks/{id}/resolve',
    summary: 'Decide about a task whose submit has an unknown outcome',
    description:
      'Ends the wait of a task for a provider whose response to the submit was lost. Make sure that the provider has no job for the task, or accept that it may make the video for nothing. If a job appears later, it is cancelled at the provider, and the customer is charged once at most. Any other task is returned unchanged, so the request may be repeated. While a submit is in progress, or if no other route can take the task, the request is rejected with `conflict`.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: { path: taskId },
    body: { form: null, json: [TaskResolution], sizeBytesMax: mebibyte },
    answer: { description: 'The state of the task after the request.', schema: AdminTask },
    errors: ['task_not_found', 'conflict', ...errorsOfBodies],
  },
} as const satisfies Record<string, Operation>
