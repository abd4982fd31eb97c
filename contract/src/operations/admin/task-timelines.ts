/** `/admin/v1/tasks/{id}/timeline` and `/admin/v1/tasks/{id}/content`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, taskId, Time } from '../../fields.ts'
import { Currency } from '../../money.ts'
import type { Operation } from '../../operation.ts'
import { videoVariants } from '../video-fields.ts'
import { FailureExplanation, Lineage, stepFields } from '../video-timelines.ts'
import { Exchange, routeReason, skippedProviders } from './tasks.ts'

const AdminTimelineStep = Type.Object({
  ...stepFields,
  upstream_model: Type.Optional(
    Type.String({ description: "Of `submit`: the provider's own name of the model." }),
  ),
  submit_outcome: Type.Optional(
    Type.String({ description: 'Of `submit`: its outcome as in `provider_attempts` of the task.' }),
  ),
  is_duplicate: Type.Optional(
    Type.Boolean({
      description:
        'Of `submit`: whether the provider accepted a job although another job had been accepted. It is not charged.',
    }),
  ),
  reason: Type.Optional(Nullable(routeReason)),
  skipped: Type.Optional(skippedProviders),
  failure_reason: Type.Optional(
    Nullable(Type.String({ description: "Of `submit`: the provider's message, redacted." })),
  ),
  exchanges: Type.Optional(
    Type.Array(Exchange, { description: 'Of `submit`: the calls to the provider, redacted.' }),
  ),
})
export type AdminTimelineStep = Static<typeof AdminTimelineStep>

const TaskTimeline = Type.Object({
  id: Type.String({ description: 'Id of the task.' }),
  object: ObjectType('task.timeline'),
  kind: Type.String({ enum: ['video', 'transcription'], description: 'Kind of task.' }),
  account_id: Type.String({ description: 'Id of the account.' }),
  status: Type.String({
    description: 'State of the task: `pending`, `processing`, `completed` or `failed`.',
  }),
  created_at: Time('When the task was created.'),
  finished_at: Nullable(Time('When the task ended; null until then.')),
  currency: Currency,
  steps: Type.Array(AdminTimelineStep, {
    description:
      'The steps in the order in which they began. Steps may overlap: webhooks are delivered while the task continues.',
  }),
  explanation: Nullable(FailureExplanation),
  lineage: Lineage,
})
export type TaskTimeline = Static<typeof TaskTimeline>

export const taskTimelineOperations = {
  getTaskTimeline: {
    id: 'getTaskTimeline',
    method: 'GET',
    path: '/admin/v1/tasks/{id}/timeline',
    summary: 'Get the timeline of a task',
    description:
      'Returns what happened to a task, from the request that created it to the webhooks about it, with the providers that were tried, why they were chosen, and the redacted calls. It has no prompts; those are in the order of a task. The failure is explained as for the customer; `GET /admin/v1/tasks/{id}/explanation` explains it for operators.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: taskId },
    answer: { description: 'The timeline.', schema: TaskTimeline },
    errors: ['task_not_found'],
  },
  getTaskContent: {
    id: 'getTaskContent',
    method: 'GET',
    path: '/admin/v1/tasks/{id}/content',
    summary: 'Download the result of a video task',
    description:
      'Returns a file of a completed video task, or a redirect to it, which needs no API key; `Range` requests are supported. A spritesheet has the layout that `GET /v1/videos/{id}/content` describes. Each download is recorded in the audit log.',
    access: 'operator',
    roles: ['support', 'admin'],
    parameters: {
      path: taskId,
      optionalQuery: {
        variant: Type.String({
          enum: [...videoVariants],
          default: 'video',
          description: 'Which file to download.',
        }),
      },
    },
    answer: { description: 'The file.', contentType: 'video/mp4' },
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
} as const satisfies Record<string, Operation>
