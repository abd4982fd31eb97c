/** Why no table grows forever. A test compares this with the catalog of PostgreSQL and executes every deletion. */
import { partitionedTables, retentionOf } from './partition-store.ts'

export type TableGrowth =
  /** Rows are deleted after the retention of tasks or of the request log, and then the monthly partition is dropped. */
  | { class: 'partitioned'; retention: 'task' | 'log' }
  /** Kept until `kinora archive` exports the year. */
  | { class: 'archived' }
  /** Rows are deleted one by one. */
  | { class: 'deleted'; when: string }
  /** At most one row for each value of the primary key, which are few. */
  | { class: 'bounded'; by: string[] }
  /** One row for each action of an operator or of a customer's administrator, independent of the number of tasks. */
  | { class: 'administered'; by: string }

const archived = ['ledger_entries', 'usage_entries', 'account_movements', 'refunds'] as const

const deleted = {
  claimed_jobs: '30 days have passed and the task has ended',
  console_links: 'it is used, or five minutes have passed',
  console_sessions:
    'it is revoked or has ended, or its key is deleted; seven days after its start at the latest',
  characters: 'the customer deletes it, or its task ends; an account has at most CHARACTERS_PER_ACCOUNT',
  deleted_characters: 'the retention of tasks of its account has passed',
  file_removals: 'the file is removed',
  idempotency_keys: 'the stored response has expired',
  job_removals: 'the provider has deleted the job, or 30 days have passed',
  keys: 'the key was deleted, or its old secret expired, and the longest retention of tasks and of the request log has passed',
  media: 'the task is deleted, or the file is removed and the retention of tasks of its account has passed',
  open_tasks: 'the task ends',
  open_transcriptions: 'the task ends',
  queue_shares: 'the virtual clock of the queue has passed them',
  retention_changes: 'the change has been applied to all results',
  route_health: 'the route recovered 10 minutes ago, or was not probed for a day',
  service_days: '90 days have passed',
  tasks_in_flight: 'the key has no task in flight and the dispatcher ticks',
  ticks: 'an hour has passed',
  transcription_segments: 'the transcript has expired',
  webhook_endpoints:
    'the customer deletes it; one for the URLs of creates, when none has named it for 30 days or for as long as the request log is stored, whichever is longer',
  webhook_receipts: 'a day has passed',
} as const

export type DeletedTable = keyof typeof deleted

const bounded = {
  account_budgets: ['account_id'],
  applied_retention: ['singleton'],
  balances: ['account_id', 'wallet'],
  deprecation_checks: ['model'],
  duration_mismatches: ['provider'],
  event_generation: ['singleton'],
  instance_settings: ['singleton'],
  job_durations: ['provider', 'model', 'bucket'],
  key_budgets: ['key_id', 'period'],
  key_quotas: ['key_id'],
  ledger_archives: ['before'],
  ledger_audits: ['singleton'],
  ledger_checkpoints: ['account_id', 'wallet'],
  migrations: ['name'],
  model_configs: ['model'],
  opening_balances: ['account_id', 'wallet'],
  opening_key_usage: ['key_id'],
  provider_configs: ['name'],
  provider_spend: ['provider'],
  queue_starts: ['queue', 'model'],
  service_states: ['kind'],
  statement_sums: ['account_id', 'wallet', 'month', 'movement', 'model', 'unit'],
  subscriptions: ['account_id'],
  told_deprecations: ['account_id', 'model'],
  webhook_secrets: ['account_id'],
  task_durations: ['provider', 'model', 'seconds', 'pixels', 'bucket'],
}

const administered = {
  accounts: 'accounts that operators create',
  audit_log: 'changes that operators and customers with the scope `account` make',
  erasures: 'accounts that operators erase',
  plans: 'plans that operators create and delete',
  prices: 'prices that operators set',
}

const classify = <Value>(rows: Record<string, Value>, growthOf: (value: Value) => TableGrowth) =>
  Object.entries(rows).map(([table, value]): [string, TableGrowth] => [table, growthOf(value)])

export const tableGrowth: Record<string, TableGrowth> = Object.fromEntries([
  ...partitionedTables.map((table): [string, TableGrowth] => [
    table,
    { class: 'partitioned', retention: retentionOf(table) },
  ]),
  ...archived.map((table): [string, TableGrowth] => [table, { class: 'archived' }]),
  ...classify(deleted, (when) => ({ class: 'deleted', when })),
  ...classify(bounded, (by) => ({ class: 'bounded', by })),
  ...classify(administered, (by) => ({ class: 'administered', by })),
])

/** What limits a table, in words. */
export const describeGrowth = (growth: TableGrowth): string => {
  switch (growth.class) {
    case 'partitioned':
      return `rows are deleted after the retention of ${growth.retention === 'task' ? 'tasks of their account' : 'the request log'}, then the monthly partition is dropped`
    case 'archived':
      return 'kept until `kinora archive` exports the year'
    case 'deleted':
      return `rows are deleted when ${growth.when}`
    case 'bounded':
      return growth.by[0] === 'singleton' ? 'one row' : `one row per ${growth.by.join(', ')}`
    case 'administered':
      return `only ${growth.by}`
  }
}
