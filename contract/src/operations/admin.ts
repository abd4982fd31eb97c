/** What operators read and write. Money is in micros (millionths of its currency), times are Unix seconds. */
import { Type, type Static, type TProperties, type TSchema } from 'typebox'

import { Currency, GivenCurrency, Micros } from '../money.ts'
import { limitGroups } from '../operation.ts'
import { PriceLine } from './account.ts'

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const timeMax = 253_402_300_799
export const Time = Type.Integer({ minimum: 0, maximum: timeMax, description: 'Unix time in seconds.' })
/** A thousand million of the currency: what anybody may mean, and what adds up without loss. */
const amountMax = 1_000_000_000_000_000
const Days = Type.Integer({ minimum: 1, maximum: 36_500 })
const Concurrency = Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Tasks in flight.' })
const PerMinute = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })
const Limits = Type.Object(
  Object.fromEntries(limitGroups.map((group) => [group, Type.Optional(PerMinute)])),
  { description: 'Requests per minute, by group of operations.' },
)

/** A page of things; `next` is the cursor of the page after it. */
export const Page = <Schema extends TSchema>(item: Schema) =>
  Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    next: Nullable(Type.String({ description: 'Give it as `cursor` to read on; null on the last page.' })),
  })

const optionals = <Properties extends TProperties>(properties: Properties) =>
  Type.Partial(Type.Object(properties))

// Accounts

const accountSettings = {
  status: Type.String({ enum: ['active', 'suspended'] }),
  payment_state: Type.String({
    enum: ['ok', 'failed'],
    description: '`failed` after a declined top-up: it explains a balance that is too low.',
  }),
  spend_cap_micros: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: amountMax,
      description: 'The most it may spend in a calendar month (UTC).',
    }),
  ),
  concurrency: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Tasks it may have in flight; more of them wait in line.',
    }),
  ),
  media_retention_days: Nullable(Days),
  task_retention_days: Nullable(Days),
}
export const AccountBody = Type.Object({
  name: Type.String({ maxLength: 200 }),
  ...optionals({ ...accountSettings, currency: GivenCurrency }).properties,
})
export const AccountChange = optionals({
  name: Type.String({ maxLength: 200 }),
  ...accountSettings,
  currency: GivenCurrency,
})
export const Balance = Type.Object({
  wallet: Type.String({ enum: ['payg', 'subscription'] }),
  available_micros: Micros,
  held_micros: Micros,
  currency: Currency,
})
export const SubscriptionState = Type.Object({
  plan_id: Nullable(Type.String()),
  cycle_quota_micros: Micros,
  currency: Currency,
  cycle_started_at: Time,
  cycle_ends_at: Time,
  ends_at: Time,
})
export const Account = Type.Object({
  id: Type.String(),
  object: Type.Literal('account'),
  name: Type.String(),
  ...accountSettings,
  currency: Currency,
  balances: Type.Array(Balance),
  subscription: Nullable(SubscriptionState),
  created_at: Time,
})
export type Account = Static<typeof Account>

// Plans

const planFields = {
  name: Type.String({ maxLength: 200 }),
  cycle_quota_micros: Type.Integer({
    minimum: 0,
    maximum: amountMax,
    description: 'What one cycle may spend.',
  }),
  cycle_days: Type.Integer({ minimum: 1, maximum: 3660 }),
}
export const PlanBody = Type.Object({ ...planFields, currency: Type.Optional(GivenCurrency) })
export const PlanChange = optionals({ ...planFields, currency: GivenCurrency })
export const Plan = Type.Object({
  id: Type.String(),
  object: Type.Literal('plan'),
  ...planFields,
  currency: Currency,
  subscribers: Type.Integer(),
  created_at: Time,
})
export type Plan = Static<typeof Plan>

export const SubscriptionBody = Type.Object({
  plan_id: Type.String(),
  ends_at: Type.Integer({
    minimum: 0,
    maximum: timeMax,
    description: 'Unix time in seconds after which its keys are refused.',
  }),
})

// Keys

const Budgets = <Schema extends TSchema>(currency: Schema) =>
  Type.Array(
    Type.Object({
      period: Type.String({ enum: ['hour', 'day', 'week', 'month'] }),
      limit_micros: Type.Integer({ minimum: 0, maximum: amountMax }),
      currency,
    }),
    {
      maxItems: 4,
      description: 'The most it may spend in each period (UTC); what is left over does not carry over.',
    },
  )
const keySettings = {
  name: Type.String({ maxLength: 200 }),
  models: Nullable(Type.Array(Type.String(), { maxItems: 200, description: 'Null for every model.' })),
  addresses: Nullable(
    Type.Array(Type.String(), { maxItems: 200, description: 'CIDR ranges or addresses; null for any.' }),
  ),
  expires_at: Nullable(Time),
  disabled: Type.Boolean(),
  quota_micros: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: amountMax,
      description: 'The most it may ever spend, counted from when it was given.',
    }),
  ),
  requests_per_minute: Nullable(PerMinute),
  limits: Limits,
  concurrency: Nullable(Concurrency),
  dialect: Type.String({ enum: ['reference', 'openai'] }),
}
const givenKeySettings = {
  ...keySettings,
  budgets: Budgets(Type.Optional(GivenCurrency)),
  currency: GivenCurrency,
}
export const KeyBody = Type.Object({
  kind: Type.String({ enum: ['payg', 'subscription'] }),
  ...optionals(givenKeySettings).properties,
})
export const KeyChange = optionals(givenKeySettings)
export const Key = Type.Object({
  id: Type.String(),
  object: Type.Literal('key'),
  account_id: Nullable(Type.String()),
  kind: Type.String({ enum: ['payg', 'subscription', 'admin'] }),
  hint: Type.String({ description: 'The end of the secret, for people to tell keys apart.' }),
  ...keySettings,
  budgets: Budgets(Currency),
  currency: Currency,
  used_micros: Type.Integer({ description: 'Of its quota; 0 for a key that has none.' }),
  last_used_at: Nullable(Time),
  created_at: Time,
})
export type Key = Static<typeof Key>
export const CreatedKey = Type.Object({
  key: Key,
  secret: Type.String({ description: 'Shown this once; only a hash of it is kept.' }),
})
export const RotateBody = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      default: 0,
      description: 'How long the old secret works on.',
    }),
  ),
})
export const OperatorKeyBody = Type.Object({ name: Type.String({ maxLength: 200 }) })

// Money

const moneyFields = {
  currency: Type.Optional(GivenCurrency),
  wallet: Type.Optional(Type.String({ enum: ['payg', 'subscription'], default: 'payg' })),
  reason: Type.String({ maxLength: 500 }),
  reference: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Yours, such as an invoice; the same one twice is one movement.',
    }),
  ),
}
export const TopUpBody = Type.Object({
  amount_micros: Type.Integer({ minimum: 1, maximum: amountMax }),
  ...moneyFields,
})
export const AdjustmentBody = Type.Object({
  amount_micros: Type.Integer({
    minimum: -amountMax,
    maximum: amountMax,
    description: 'Negative to take back; never below what is available.',
  }),
  ...moneyFields,
})
export const AccountMovement = Type.Object({
  id: Type.String(),
  object: Type.Literal('movement'),
  account_id: Type.String(),
  kind: Type.String({ enum: ['top_up', 'grant', 'adjustment', 'expiry'] }),
  wallet: Type.String(),
  amount_micros: Micros,
  currency: Currency,
  actor: Type.String(),
  reason: Type.String(),
  reference: Nullable(Type.String()),
  created_at: Time,
})
export type AccountMovement = Static<typeof AccountMovement>
export const MadeMovement = Type.Object({ ...AccountMovement.properties, balance: Balance })
export type MadeMovement = Static<typeof MadeMovement>
export const LedgerEntry = Type.Object({
  id: Type.String(),
  account_id: Type.String(),
  wallet: Type.String(),
  task_id: Nullable(Type.String({ description: 'The task, request or movement it belongs to.' })),
  movement: Type.String(),
  book: Type.String(),
  amount_micros: Micros,
  currency: Currency,
  created_at: Time,
})
export type LedgerEntry = Static<typeof LedgerEntry>
export const LedgerAudit = Type.Object({
  object: Type.Literal('ledger.audit'),
  is_sound: Type.Boolean(),
  checked_at: Time,
  took_ms: Type.Integer(),
  findings: Type.Array(
    Type.Object({
      invariant: Type.String(),
      violations: Type.Integer(),
      examples: Type.Array(Type.String()),
      meaning: Type.String(),
    }),
  ),
})
export type LedgerAudit = Static<typeof LedgerAudit>

// Prices

export const PriceBody = Type.Object({
  model: Type.String(),
  unit: Type.String({
    description: 'What the price is for. A video is sold by the second or by the call.',
    enum: [
      'second',
      'minute',
      'call',
      'million_characters',
      'million_text_input_tokens',
      'million_audio_input_tokens',
      'million_text_output_tokens',
      'million_audio_output_tokens',
    ],
  }),
  resolution: Type.Optional(
    Nullable(
      Type.String({
        pattern: '^\\d{2,5}x\\d{2,5}$',
        'x-demand': 'a width and a height in pixels such as 1280x720',
        description: 'Width by height; null for all.',
      }),
    ),
  ),
  unit_micros: Type.Integer({ minimum: 0, maximum: amountMax }),
  currency: Type.Optional(GivenCurrency),
  starts_at: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: timeMax,
      description: 'Unix time in seconds; now where it is not given.',
    }),
  ),
})
export const PriceVersion = Type.Object({
  id: Nullable(Type.String({ description: 'Null for a price that was not set by an operator.' })),
  object: Type.Literal('price'),
  model: Type.String(),
  unit: Type.String(),
  resolution: Nullable(Type.String()),
  unit_micros: Micros,
  currency: Currency,
  version: Type.Integer({
    description: 'Counted per model, unit and resolution; 0 for one that nobody set.',
  }),
  starts_at: Nullable(Time),
  actor: Nullable(Type.String()),
  source: Type.String({ enum: ['catalog', 'file', 'operator'] }),
})
export type PriceVersion = Static<typeof PriceVersion>

// Tasks, usage, requests, audit log, settings

export const AdminTask = Type.Object({
  id: Type.String(),
  object: Type.Literal('task'),
  kind: Type.String({ enum: ['video', 'transcription'] }),
  account_id: Type.String(),
  key_id: Type.String(),
  model: Type.String(),
  provider: Nullable(
    Type.String({
      description: 'Null for a recording: each piece of it goes to whoever serves its model then.',
    }),
  ),
  status: Type.String(),
  stage: Nullable(Type.String({ description: 'Where it stands inside; null once it has ended.' })),
  progress: Type.Integer(),
  prompt: Nullable(Type.String()),
  error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  hold_micros: Micros,
  captured_micros: Nullable(Micros),
  currency: Currency,
  created_at: Time,
  finished_at: Nullable(Time),
})
export type AdminTask = Static<typeof AdminTask>
const Decision = Type.Object({
  provider: Type.String(),
  because: Type.String({ description: 'Why it was chosen.' }),
  skipped: Type.Array(
    Type.Object({
      provider: Type.String(),
      because: Type.String({ description: 'Why it was passed over.' }),
    }),
  ),
})
/** One call to a provider; nothing secret is in it. */
const Exchange = Type.Object({
  what: Type.String({ description: 'Which call it was, such as `submit`.' }),
  method: Type.String(),
  path: Type.String({ description: "Below the provider's address, without a query." }),
  status: Nullable(Type.Integer({ description: 'Null where no answer came.' })),
  ms: Type.Number(),
  answer: Type.String({ description: 'The beginning of the answer, or why there was none.' }),
})
const ProviderAttempt = Type.Object({
  attempt: Type.Integer(),
  provider: Type.String(),
  upstream_model: Type.String({ description: "The provider's own name for the model." }),
  because: Nullable(Decision.properties.because),
  skipped: Decision.properties.skipped,
  outcome: Type.String({
    enum: ['accepted', 'not_delivered', 'busy', 'unauthorized', 'rejected', 'moderated', 'unknown'],
    description:
      'How the submit ended. `unauthorized` where the provider refused our credential, `unknown` where it may have taken the job and nobody could say.',
  }),
  failure_reason: Nullable(
    Type.String({
      description:
        "Why the submit failed, or why the job failed after it was taken: the provider's words, redacted. Callers never see them.",
    }),
  ),
  is_duplicate: Type.Boolean({
    description: 'It took a job although another was taken already; nobody is charged for it.',
  }),
  started_at: Time,
  ended_at: Time,
  exchanges: Type.Array(Exchange),
})
export type ProviderAttempt = Static<typeof ProviderAttempt>
export const AdminTaskDetail = Type.Object({
  ...AdminTask.properties,
  order: Type.Unknown(),
  price: PriceLine,
  retried_from: Nullable(
    Type.String({ description: 'The failed task that this one was ordered again for.' }),
  ),
  upstream: Type.Unknown({ description: "What its provider's job is found by; null where there is none." }),
  attempts: Nullable(
    Type.Object({
      runs: Type.Integer({ description: 'How often it was handed to the engine.' }),
      submits: Type.Integer({ description: 'Submits that may have reached the provider.' }),
      refusals: Type.Integer({ description: 'Submits that the provider certainly turned away.' }),
      submitted_at: Nullable(Time),
      deadline_at: Time,
    }),
  ),
  decision: Nullable({
    ...Decision,
    description: 'Where it is or goes next, and why; null once it has ended.',
  }),
  provider_attempts: Type.Array(ProviderAttempt, {
    description: 'Each time a provider was asked to take it, in order.',
  }),
  events: Type.Array(Type.Object({ at: Time, kind: Type.String(), data: Type.Unknown() })),
})

export const UsageRow = Type.Object({
  period: Nullable(Type.Integer({ description: 'Start of the hour or day, Unix seconds; null over all.' })),
  model: Nullable(Type.String()),
  key_id: Nullable(Type.String()),
  account_id: Nullable(Type.String()),
  requests: Type.Integer({ description: 'Tasks and requests that ended then, by whichever end.' }),
  completed: Type.Integer(),
  failed: Type.Integer(),
  captured_micros: Micros,
  currency: Currency,
  seconds: Type.Number({ description: 'Of video made, or of sound understood.' }),
})
export type UsageRow = Static<typeof UsageRow>

export const LoggedRequest = Type.Object({
  id: Type.String({ description: 'The `x-request-id` of its answer.' }),
  object: Type.Literal('request'),
  at: Time,
  account_id: Nullable(Type.String()),
  key_id: Nullable(Type.String()),
  operation: Type.String(),
  method: Type.String(),
  path: Type.String(),
  status: Type.Integer(),
  error_code: Nullable(Type.String()),
  model: Nullable(Type.String()),
  provider: Nullable(
    Type.String({ description: 'Who was asked, where somebody was while the caller waited.' }),
  ),
  task_id: Nullable(Type.String()),
  took_ms: Type.Integer(),
  address: Type.String(),
  client: Nullable(Type.String()),
})
export type LoggedRequest = Static<typeof LoggedRequest>

export const AuditEntry = Type.Object({
  sequence: Type.Integer(),
  object: Type.Literal('audit.entry'),
  at: Time,
  actor: Type.String({ description: "The operator's key, by name and hint." }),
  action: Type.String({ description: 'The operation.' }),
  target: Nullable(Type.String()),
  before: Type.Unknown(),
  after: Type.Unknown(),
  request_id: Type.String(),
  hash: Type.String({ description: 'Over this entry and the hash before it.' }),
})
export type AuditEntry = Static<typeof AuditEntry>
export const AuditVerification = Type.Object({
  object: Type.Literal('audit.verification'),
  is_intact: Type.Boolean(),
  entries: Type.Integer(),
  broken_at: Nullable(Type.Integer({ description: 'The first entry whose hash does not fit.' })),
  head: Nullable(Type.String({ description: 'The newest hash; note it elsewhere to prove the log later.' })),
})

const settingFields = {
  limits: Limits,
  concurrency_per_account: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Tasks in flight, where an account has no own number; null for no cap.',
    }),
  ),
  concurrency_per_key: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Tasks in flight, where a key has no own number; null for no cap.',
    }),
  ),
  queue_length_per_account: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    description: 'Tasks that may wait; more are refused with 429.',
  }),
  media_retention_days: Days,
  task_retention_days: Days,
  log_retention_days: Days,
}
export const InstanceSettings = Type.Object({ object: Type.Literal('settings'), ...settingFields })
export type InstanceSettings = Static<typeof InstanceSettings>
export const SettingsChange = optionals(settingFields)
