/** `/v1/videos/{id}/timeline`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, taskId, Time } from '../fields.ts'
import { Currency, Micros } from '../money.ts'
import type { Operation } from '../operation.ts'
import { Status, VideoDetails } from './video-fields.ts'

export const stepKinds = [
  'accepted',
  'hold',
  'queue',
  'submit',
  'generate',
  'store',
  'transcribe',
  'settle',
  'refund',
  'webhook',
] as const
export type StepKind = (typeof stepKinds)[number]

/** The fields of a step that customers and operators see. */
export const stepFields = {
  kind: Type.String({
    enum: [...stepKinds],
    description:
      '`accepted`: the request created the task. `hold`: its price was held. `queue`: it waited for a slot. `submit`: an attempt to hand it to a provider. `generate`: the provider worked on it. `store`: the result was downloaded, checked and stored. `transcribe`: a recording was transcribed. `settle`: the hold was captured or released. `refund`: a part of the charge was returned. `webhook`: an attempt to deliver an event to a webhook endpoint, or the wait for one.',
  }),
  started_at: Time('When the step began.'),
  ended_at: Nullable(Time('When the step ended; null while it is in progress.')),
  offset_ms: Type.Integer({
    minimum: 0,
    description: 'Milliseconds from the creation of the task to the start of the step.',
  }),
  duration_ms: Nullable(
    Type.Integer({
      minimum: 0,
      description: 'Duration of the step in milliseconds; null while it is in progress.',
    }),
  ),
  attempt: Nullable(
    Type.Integer({
      minimum: 1,
      description: 'Number of the attempt, counted from 1. Only of `submit` and `webhook`, otherwise null.',
    }),
  ),
  outcome: Nullable(
    Type.String({
      description:
        'How the step ended; null while it is in progress. `accepted`: `accepted`. `hold`: `held`. `queue`: `started` or `failed`. `submit`: `accepted`, `rejected`, `moderated`, `failed`, or `unknown` if the response was lost. `generate`: `done` or `failed`. `store`: `stored` or `failed`. `transcribe`: `done` or `failed`. `settle`: `captured` or `released`. `refund`: `refunded`. `webhook`: `delivered` or `failed`.',
    }),
  ),
  detail: Nullable(
    Type.String({ description: 'More about the step as a sentence; null if there is nothing to add.' }),
  ),
  provider: Nullable(
    Type.String({ description: 'Name of the provider. Only operators see it; null for customers.' }),
  ),
  amount_micros: Type.Optional(Micros('The amount of a `hold`, `settle` or `refund`.')),
  currency: Currency,
  request_id: Type.Optional(
    Nullable(
      Type.String({
        description:
          'Of `accepted`: id of the HTTP request that created the task, as in `X-Request-Id`; null if it is not in the request log, where requests appear after a moment.',
      }),
    ),
  ),
  polls: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 0,
        description: 'Of `generate`: how often the provider was asked for the result; null if unknown.',
      }),
    ),
  ),
  last_poll_at: Type.Optional(
    Nullable(Time('Of `generate`: when the provider was last asked; null if never, or if unknown.')),
  ),
  delivery_id: Type.Optional(Type.String({ description: 'Of `webhook`: id of the delivery.' })),
  event_type: Type.Optional(
    Type.String({ description: 'Of `webhook`: type of the event, such as `video.completed`.' }),
  ),
  status: Type.Optional(
    Nullable(
      Type.Integer({
        description: 'Of `webhook`: HTTP status of the response; null if there was none.',
      }),
    ),
  ),
}

const TimelineStep = Type.Object(stepFields)
export type TimelineStep = Static<typeof TimelineStep>

export const FailureExplanation = Type.Object(
  {
    cause: Type.String({ description: 'Why the task failed, in plain sentences.' }),
    what_to_do: Type.String({ description: 'What to do about it, in plain sentences.' }),
    charged_micros: Micros('What the failed task cost.'),
    currency: Currency,
    is_repeat_safe: Type.Boolean({
      description:
        'Whether the unchanged request can be sent again: the failure was not due to its content, and it is not charged twice.',
    }),
  },
  { description: 'Why the task failed and what to do; null if it has not failed.' },
)
export type FailureExplanation = Static<typeof FailureExplanation>

export const promptExcerptCharacters = 200
export const remixesMax = 100

export const Lineage = Type.Object(
  {
    source: Nullable(
      Type.Object(
        {
          id: Type.String({ description: 'Id of the task that this one is a remix of.' }),
          prompt: Nullable(
            Type.String({
              description: `The first ${promptExcerptCharacters} characters of its prompt; null if the task was deleted, and for operators, who read prompts in the order of a task.`,
            }),
          ),
          status: Nullable(
            Type.String({ description: 'State of the source; null if the task was deleted.' }),
          ),
        },
        { description: 'The video that this one is a remix of; null if it is not a remix.' },
      ),
    ),
    remixes: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Id of the remix.' }),
        created_at: Time('When the remix was created.'),
        status: Type.String({ description: 'State of the remix.' }),
      }),
      { description: `The newest ${remixesMax} remixes of this video, newest first.` },
    ),
  },
  { description: 'The video that this one was made from, and those that were made from it.' },
)
export type Lineage = Static<typeof Lineage>

const CreatingRequest = Type.Object(
  {
    width: Type.Integer({ description: 'Width of the video in pixels.' }),
    height: Type.Integer({ description: 'Height of the video in pixels.' }),
    watermark: Type.Boolean({ description: 'Whether the video was to carry a watermark.' }),
    private: Type.Boolean({ description: 'Whether the video was to stay unpublished.' }),
    sound: Type.Boolean({ description: 'Whether the video was to have sound.' }),
    style: Nullable(Type.String({ description: 'Name of the style preset; null without one.' })),
    enhance_prompt: Type.Boolean({ description: 'Whether the prompt was to be rewritten.' }),
    characters: Type.Array(Type.String(), {
      description: 'Usernames of the characters of the video, whether or not they still exist.',
    }),
    files: Type.Integer({
      description:
        'How many images, videos and recordings the request had. They are deleted when the task ends.',
    }),
  },
  { description: 'What the request that created the task asked for, besides model, prompt and duration.' },
)

const VideoTimeline = Type.Object({
  id: Type.String({ description: 'Id of the task.' }),
  object: ObjectType('video.timeline'),
  status: Status,
  created_at: Time('When the task was created.'),
  finished_at: Nullable(Time('When the task ended; null until then.')),
  currency: Currency,
  details: Type.Object(VideoDetails.properties, { description: 'More about the task.' }),
  request: CreatingRequest,
  steps: Type.Array(TimelineStep, {
    description:
      'The steps in the order in which they began. Steps may overlap: webhooks are delivered while the task continues.',
  }),
  explanation: Nullable(FailureExplanation),
  lineage: Lineage,
})
export type VideoTimeline = Static<typeof VideoTimeline>

export const videoTimelineOperations = {
  getVideoTimeline: {
    id: 'getVideoTimeline',
    method: 'GET',
    path: '/v1/videos/{id}/timeline',
    summary: 'Get the timeline of a video',
    description:
      'Returns what happened to a video task, from the request that created it to the webhooks about it, with the duration of each step. For a failed task it explains the failure. It also links a remix with its source.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { path: taskId },
    answer: { description: 'The timeline.', schema: VideoTimeline },
    errors: ['task_not_found'],
  },
} as const satisfies Record<string, Operation>
