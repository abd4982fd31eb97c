/** `/admin/v1/overview`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Time } from '../../fields.ts'
import { Currency, Micros } from '../../money.ts'
import type { Operation } from '../../operation.ts'

/** The length of the series of a provider, in minutes. */
export const providerMinutes = 60

const Count = (description: string) => Type.Integer({ minimum: 0, description })
const Milliseconds = (description: string) =>
  Nullable(
    Type.Integer({ minimum: 0, description: `${description} In milliseconds; null if there was none.` }),
  )

const oldestWait = (of: string) =>
  Nullable(
    Type.Integer({
      minimum: 0,
      description: `Age of the oldest task ${of}, in seconds; null if none waits.`,
    }),
  )

const Work = Type.Object(
  {
    completed: Count('Tasks and charged requests that were completed.'),
    failed: Count('Tasks and charged requests that failed.'),
    error_rate: Nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Share of those that ended and failed, from 0 to 1; null if none ended.',
      }),
    ),
    requests: Count('Requests in the request log.'),
    client_errors: Count('Requests with a status of 400 to 499.'),
    server_errors: Count('Requests with a status of 500 or more.'),
  },
  { description: 'What ended within a period.' },
)

const TimeToVideo = Type.Object(
  {
    completed: Count('Videos that were completed within the last hour.'),
    p50_ms: Milliseconds('Half of them took at most this long, from the request to the stored video.'),
    p95_ms: Milliseconds('95 % of them took at most this long.'),
    series: Type.Array(
      Type.Object({
        at: Time('Start of the five minutes.'),
        completed: Count('Videos that were completed.'),
        failed: Count('Videos that failed.'),
        p50_ms: Milliseconds('Half of the videos took at most this long.'),
        p95_ms: Milliseconds('95 % of the videos took at most this long.'),
      }),
      { description: 'The last 24 hours in steps of five minutes, oldest first, without gaps.' },
    ),
  },
  { description: 'Time from the request for a video to the stored video.' },
)

const Today = Type.Object(
  {
    day: Type.String({ format: 'date', description: 'The UTC day of the amounts.' }),
    charged_micros: Micros('What customers were charged for what ended on this day.'),
    cost_micros: Micros('What that cost at the providers, as far as it is known.'),
    unknown_costs: Count('Charged tasks and requests whose cost is not known.'),
    budget_micros: Nullable(
      Micros('Sum of the daily budgets of the providers that have one; null if none has.'),
    ),
    currency: Currency,
  },
  { description: 'Money of the current UTC day.' },
)

const Storage = Type.Object(
  {
    objects: Count('Stored media files.'),
    size_bytes: Count('Their size in bytes.'),
    measured_at: Time('When they were counted.'),
  },
  { description: 'Stored media of all accounts.' },
)

export const minuteStates = ['healthy', 'slow', 'failing', 'none'] as const

const Minute = Type.Object({
  at: Time('Start of the minute.'),
  requests: Count('Submitted jobs and synchronous calls that ended in this minute.'),
  errors: Count('Those that failed because of the provider or its configuration.'),
  p95_ms: Milliseconds('95 % of them took at most this long.'),
  state: Type.String({
    enum: [...minuteStates],
    description:
      '`failing`: at least a fifth failed. `slow`: half of them took more than twice as long as half of those of the hour. `none`: there were none.',
  }),
})

const Breaker = Type.Object(
  {
    state: Type.String({
      enum: ['closed', 'half_open', 'open'],
      description:
        '`open`: the provider gets no new jobs for at least one model. `half_open`: one job shows whether it works again. `closed`: it gets new jobs.',
    }),
    models: Type.Array(Type.String(), { description: 'Models whose breaker is not closed.' }),
    reason: Nullable(Type.String({ description: 'Why it opened; null if it is closed.' })),
    until: Nullable(Time('When it closes or is tested; null if it is closed.')),
  },
  { description: 'Circuit breaker of the provider.' },
)

const OverviewProvider = Type.Object({
  name: Type.String({ description: 'Name of the provider.' }),
  kind: Type.String({ description: 'The protocol of the provider.' }),
  enabled: Type.Boolean({ description: 'Whether the provider gets new jobs.' }),
  running: Count('Tasks that the provider is working on.'),
  slots: Count('Tasks that the provider may work on at once.'),
  queued: Count('Tasks that wait for a slot of the provider.'),
  oldest_wait_seconds: oldestWait('that waits for the provider'),
  completed: Count('Tasks and charged requests that it completed within the last hour.'),
  failed: Count('Tasks and charged requests that failed there within the last hour.'),
  p50_ms: Milliseconds('Half of its videos of the last hour took at most this long, from the request on.'),
  p95_ms: Milliseconds('95 % of its videos of the last hour took at most this long.'),
  breaker: Breaker,
  minutes: Type.Array(Minute, {
    description: `The last ${providerMinutes} minutes, oldest first, without gaps.`,
  }),
})

export const attentionCodes = [
  ...(['provider_credential_refused', 'provider_breaker_open', 'provider_budget_alert'] as const),
  ...(['provider_budget_spent', 'provider_unusable', 'task_waiting_long', 'tasks_past_deadline'] as const),
  ...(['polls_overdue', 'submits_unknown', 'holds_too_old', 'webhook_deliveries_failed'] as const),
  ...([
    'webhook_endpoint_failing',
    'webhook_endpoint_disabled',
    'key_expires',
    'model_shut_down',
    'model_shuts_down',
  ] as const),
  ...([
    'ledger_violation',
    'ledger_audit_late',
    'worker_not_seen',
    'removals_waiting',
    'disk_low',
    'media_store_problem',
  ] as const),
] as const
export type AttentionCode = (typeof attentionCodes)[number]

export const severities = ['page', 'ticket', 'notice'] as const

const Attention = Type.Object({
  code: Type.String({ enum: [...attentionCodes], description: 'What is wrong, for programs.' }),
  severity: Type.String({
    enum: [...severities],
    description:
      '`page`: act now. `ticket`: act within working hours. `notice`: know about it. The alerts of the same facts have the same severity.',
  }),
  title: Type.String({ description: 'What is wrong, in a few words.' }),
  text: Type.String({ description: 'What is wrong and what to do, in one or two sentences.' }),
  since: Nullable(Time('Since when; null if that is not known.')),
  subject: Nullable(
    Type.Object(
      {
        type: Type.String({
          enum: ['provider', 'model', 'key', 'operator_key', 'account', 'task', 'webhook_endpoint'],
          description: 'Type of the object.',
        }),
        id: Type.String({ description: 'Id of the object, or the name of a provider.' }),
      },
      { description: 'The object that it is about; null if it is about the whole instance.' },
    ),
  ),
  count: Type.Integer({ minimum: 1, description: 'How many objects it is about. `subject` is one of them.' }),
  runbook_url: Nullable(
    Type.String({ description: 'The page that explains the repair; null if there is none.' }),
  ),
  link: Nullable(
    Type.String({
      description: 'Path of the operation that returns the details, with its query; null if none does.',
    }),
  ),
})
export type Attention = Static<typeof Attention>

export const Overview = Type.Object({
  object: ObjectType('overview'),
  at: Time(
    'When the overview was made. Counts of the last hour may be a minute older, those of the day a few minutes.',
  ),
  running: Count('Tasks that providers are working on.'),
  slots: Count('Tasks that all enabled providers may work on at once.'),
  queued: Count('Tasks that wait.'),
  oldest_wait_seconds: oldestWait('that waits'),
  last_hour: Work,
  today: Work,
  time_to_video: TimeToVideo,
  spend: Today,
  storage: Nullable(Storage),
  providers: Type.Array(OverviewProvider, { description: 'All providers, by name.' }),
  attention: Type.Array(Attention, { description: 'What needs attention, most severe first.' }),
})
export type Overview = Static<typeof Overview>

export const overviewOperations = {
  getOverview: {
    id: 'getOverview',
    method: 'GET',
    path: '/admin/v1/overview',
    summary: 'Get an overview of the instance',
    description:
      'Returns what an operator looks at first: work, errors, durations, money, the last hour of every provider, and what needs attention. Each process makes it once every few seconds, so it is cheap to poll.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    answer: { description: 'The overview.', schema: Overview },
    errors: [],
  },
} as const satisfies Record<string, Operation>
