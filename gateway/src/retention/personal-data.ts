/**
 * What every column that can hold a text, and every folder of the media store, is for. `docs/privacy.md` is generated from it,
 * and a test compares it with the catalog of PostgreSQL, so that nobody adds a column without saying when its content is deleted.
 */
import { tableGrowth } from './table-growth.ts'

export type DataClass =
  /** What a customer has written, sent or received. */
  | 'content'
  /** What tells who somebody is: names, addresses, secrets. Ids of accounts and keys are random, and refer to these. */
  | 'identifier'
  /** What amounts were charged for: quantities, models, times, and the ids of tasks. */
  | 'accounting'
  /** What operators have configured. */
  | 'settings'
  /** How the work stands: stages, queues and statistics. */
  | 'state'

interface Columns extends Partial<Record<DataClass, readonly string[]>> {
  /** When content and identifiers are deleted, if the table has any. */
  deleted?: string
}

const byDelete = 'the customer deletes the task, or the retention of tasks of its account has passed'
const withTask = 'the task ends'

export const personalData: Record<string, Columns> = {
  account_budgets: {},
  account_events: {
    content: ['data'],
    accounting: ['id', 'type', 'object_id'],
    deleted: 'it is older than LOG_RETENTION_DAYS, or the account is erased',
  },
  account_movements: {
    accounting: ['id', 'wallet', 'kind', 'actor'],
    identifier: ['reason', 'reference'],
    deleted:
      'the account is erased, or `kinora archive` exports the year. Reasons and references are written by operators',
  },
  accounts: {
    identifier: ['name'],
    accounting: ['status', 'payment_state'],
    deleted: 'the account is erased',
  },
  applied_retention: {},
  // Without names, reasons and addresses, because it cannot be changed: see `audited-value.ts`.
  audit_log: {
    accounting: ['actor', 'action', 'target', 'request_id', 'hash'],
    settings: ['before', 'after'],
  },
  balances: { accounting: ['wallet'] },
  characters: {
    content: ['username'],
    accounting: ['source', 'task_id'],
    deleted: 'the customer deletes the character, or the task that it was made for ends',
  },
  console_links: {
    identifier: ['hash', 'key_hash', 'operator_key_hash'],
    deleted: 'the link is used, or five minutes have passed',
  },
  console_sessions: {
    identifier: ['hash', 'key_hash', 'operator_key_hash', 'address', 'user_agent'],
    deleted:
      'the session is revoked or has ended, seven days after its start at the latest, or the account is erased',
  },
  claimed_jobs: { state: ['provider', 'task_id'] },
  deleted_characters: {},
  deprecation_checks: { state: ['model'] },
  duration_mismatches: { state: ['provider'] },
  idempotency_keys: {
    content: ['headers', 'body'],
    identifier: ['name', 'fingerprint'],
    state: ['operation', 'body_kind', 'task_id'],
    deleted:
      'the stored response has expired; a response about a task also when the task is deleted. Names and fingerprints are hashes',
  },
  event_generation: { state: ['history'] },
  erasures: { accounting: ['counts', 'certificate'] },
  file_removals: { accounting: ['storage_key'] },
  instance_settings: { settings: ['settings', 'currency'] },
  job_durations: { state: ['provider', 'model'] },
  job_removals: {
    content: ['upstream'],
    accounting: ['provider', 'task_id'],
    deleted: 'the provider has deleted the job, or 30 days have passed',
  },
  key_budgets: { settings: ['period'] },
  key_quotas: {},
  keys: {
    identifier: ['name', 'hash', 'previous_hash', 'hint', 'addresses'],
    settings: ['kind', 'role', 'scopes', 'models', 'dialect', 'limits'],
    deleted: 'the key was deleted, and the longest retention of tasks and of the request log has passed',
  },
  ledger_archives: { accounting: ['manifest_sha256'] },
  ledger_audits: { accounting: ['findings', 'full_audit_findings'] },
  ledger_checkpoints: { accounting: ['wallet'] },
  ledger_entries: { accounting: ['wallet', 'task_id', 'movement', 'book'] },
  media: {
    accounting: ['task_id', 'kind', 'storage_key', 'content_type'],
    content: ['sha256'],
    deleted:
      'the task is deleted, or the file is removed and the retention of tasks of its account has passed',
  },
  metered_requests: {
    accounting: [
      'id',
      'operation',
      'model',
      'model_name',
      'provider',
      'wallet',
      'held_for',
      'charged_for',
      'outcome',
    ],
    content: ['metadata'],
    deleted: 'the retention of tasks of its account has passed, or the account is erased',
  },
  migrations: { state: ['name'] },
  model_configs: { settings: ['model', 'settings'] },
  open_tasks: {
    content: ['upstream', 'outcome'],
    state: [
      ...['task_id', 'model', 'provider', 'stage', 'decision', 'tried_providers', 'source_task_id'],
      'trace_context',
    ],
    deleted: withTask,
  },
  open_transcriptions: { state: ['task_id', 'stage'] },
  opening_balances: { accounting: ['wallet'] },
  opening_key_usage: {},
  plans: { settings: ['name'] },
  prices: { accounting: ['actor'], settings: ['model', 'unit', 'resolution', 'input'] },
  provider_configs: { settings: ['name', 'settings', 'credential', 'credential_hint'] },
  provider_spend: { state: ['provider'] },
  queue_shares: { state: ['queue'] },
  queue_starts: { state: ['queue', 'model'] },
  refunds: { accounting: ['id', 'task_id'] },
  request_log: {
    identifier: ['address', 'user_agent'],
    accounting: ['id', 'operation', 'method', 'path', 'error_code', 'model', 'provider', 'task_id'],
    deleted: 'it is older than LOG_RETENTION_DAYS',
  },
  retention_changes: {},
  route_health: { state: ['provider', 'model', 'reason'] },
  service_days: { state: ['kind'] },
  service_states: { state: ['kind', 'state', 'reasons'] },
  statement_sums: { accounting: ['wallet', 'movement', 'model', 'unit'] },
  subscriptions: {},
  task_attempts: {
    content: ['exchanges', 'failure_reason'],
    accounting: ['task_id', 'provider', 'upstream_model', 'decision', 'outcome'],
    deleted: byDelete,
  },
  task_durations: { state: ['provider', 'model'] },
  task_events: {
    content: ['data'],
    identifier: ['webhook'],
    accounting: ['task_id', 'kind', 'object'],
    deleted: byDelete,
  },
  tasks_in_flight: { state: ['provider', 'model'] },
  ticks: { state: ['loop', 'key', 'id'] },
  told_deprecations: { accounting: ['model'] },
  transcription_segments: {
    content: ['transcript', 'failure'],
    accounting: ['task_id'],
    deleted: 'the transcript has expired, or the customer deletes the task',
  },
  transcription_tasks: {
    identifier: ['webhook'],
    content: ['transcription_order', 'error_message', 'end_state'],
    accounting: [
      'id',
      'model',
      'model_name',
      'state',
      'wallet',
      'prices',
      'provider',
      'error_code',
      'recording_key',
    ],
    deleted: byDelete,
  },
  usage_entries: { accounting: ['id', 'model', 'model_name', 'outcome', 'provider', 'prices'] },
  usage_metadata: {
    content: ['metadata'],
    accounting: ['id'],
    deleted: `${byDelete}; of a synchronous request when the retention has passed`,
  },
  video_tasks: {
    identifier: ['webhook'],
    content: ['video_order', 'enhanced_prompt', 'upstream', 'error_message'],
    accounting: [
      'id',
      'model',
      'model_name',
      'family',
      'created_via',
      'state',
      'provider',
      'wallet',
      'prices',
      'error_code',
      'end_state',
    ],
    deleted: byDelete,
  },
  webhook_attempts: {
    content: ['error', 'response'],
    deleted:
      'it is older than LOG_RETENTION_DAYS and does not wait for an enabled endpoint, or the account is erased',
  },
  webhook_deliveries: {
    content: ['data'],
    identifier: ['url'],
    accounting: ['event_id', 'type', 'object_id', 'state'],
    deleted:
      'it is older than LOG_RETENTION_DAYS and does not wait for an enabled endpoint, or the account is erased',
  },
  webhook_endpoints: {
    identifier: ['url', 'name', 'secret', 'previous_secret'],
    settings: ['kind', 'events', 'payload'],
    state: ['disabled_reason'],
    deleted:
      'the customer deletes it, the account is erased, or, for URLs of creates, none has named it for 30 days or LOG_RETENTION_DAYS, whichever is longer',
  },
  webhook_secrets: {
    identifier: ['secret', 'previous_secret'],
    deleted: 'the account is erased',
  },
  webhook_receipts: { state: ['provider', 'id'] },
}

interface StoredFiles {
  /** What the files are, and when they are deleted. */
  what: string
  /** Each file has a row. A file without one is deleted as an orphan. */
  hasRows: boolean
}

/** The folders of the media store. */
export const storedFiles: Record<string, StoredFiles> = {
  videos: {
    what: 'results, until their retention has passed or the customer deletes the task',
    hasRows: true,
  },
  variants: { what: 'thumbnails and spritesheets, as long as their video', hasRows: true },
  references: { what: 'images and clips of requests, until the task ends', hasRows: true },
  characters: {
    what: 'clips and portraits, until the customer deletes the character or its task ends',
    hasRows: true,
  },
  recordings: { what: 'recordings of transcription tasks, until the task ends', hasRows: true },
  voices: { what: 'samples of voices, without anything of a customer; kept', hasRows: false },
  erasures: {
    what: 'the erasure list: ids and times, without anything else of a customer; kept',
    hasRows: false,
  },
  check: { what: 'objects of `kinora storage check`, until it ends', hasRows: false },
}

const shown = (names: readonly string[] = []) => names.map((name) => `\`${name}\``).join(', ') || '–'

/** The tables that have content or identifiers, as rows of Markdown. */
export const describePersonalData = (): string[] => [
  '| table | content | identifiers | deleted when |',
  '|---|---|---|---|',
  ...Object.entries(personalData).flatMap(([table, { content, identifier, deleted }]) =>
    deleted === undefined || tableGrowth[table] === undefined
      ? []
      : `| \`${table}\` | ${shown(content)} | ${shown(identifier)} | ${deleted} |`,
  ),
]

/** The folders of the media store, as rows of Markdown. */
export const describeStoredFiles = (): string[] => [
  '| folder | files |',
  '|---|---|',
  ...Object.entries(storedFiles).map(([folder, { what }]) => `| \`${folder}\` | ${what} |`),
]
