/** What an erasure does to each table that refers to accounts, keys or tasks. A test compares it with the catalog. */

/** Rows are deleted. */
export const erasedTables = [
  ...['video_tasks', 'task_events', 'task_attempts', 'open_tasks'],
  ...['transcription_tasks', 'transcription_segments', 'open_transcriptions'],
  ...['media', 'characters', 'deleted_characters', 'idempotency_keys', 'request_log'],
  'account_events',
  ...['webhook_endpoints', 'webhook_secrets', 'webhook_deliveries', 'webhook_attempts'],
  ...['usage_metadata', 'account_budgets', 'console_sessions', 'console_links'],
] as const

/** Rows stay, because others refer to their id, and lose what a person wrote. */
export const emptiedTables = {
  accounts: 'name',
  keys: 'name, hint, hash, addresses and models',
  account_movements: 'reason and reference',
  metered_requests: 'metadata',
} as const

/** Rows stay: they have ids, times, amounts and names of models. */
export const keptTables = {
  ledger_entries: 'accounting: amounts',
  usage_entries: 'accounting: models, durations and amounts',
  refunds: 'accounting: ids',
  balances: 'accounting: the balance that is left',
  subscriptions: 'accounting: plan and times',
  ledger_checkpoints: 'accounting: sums',
  opening_balances: 'accounting: sums of archived years',
  statement_sums: 'accounting: sums of archived months',
  opening_key_usage: 'accounting: sums of archived years',
  key_quotas: 'limits: amounts',
  key_budgets: 'limits: amounts',
  audit_log: 'audit: what operators did',
  claimed_jobs: 'hashes of job references, until the retention of tasks',
  queue_shares: 'the queue: virtual times',
  tasks_in_flight: 'the queue: counts',
  told_deprecations: 'names of deprecated models that it has used',
  retention_changes: 'retention: a time',
  file_removals: 'files until they are removed',
  job_removals: 'jobs at providers until they are deleted',
  erasures: 'the erasure itself',
} as const
