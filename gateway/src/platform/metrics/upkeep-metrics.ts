/** Metrics of money, media and the engine. */
import { counter, gauge, histogram, type MetricRow } from './metric-row.ts'

const gatewayRoles = ['api', 'worker'] as const
const worker = ['worker'] as const
const api = ['api'] as const
const storageSeconds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]
const waitSeconds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const onUse = 'a program has run or a file was downloaded for a caller'

export const moneyMetrics = {
  'kinora.money.moved': counter({
    unit: '{currency}',
    help: 'Money that this process moved in the ledger, in units of the currency. Debits count as positive.',
    labels: {
      movement: ['top_up', 'grant', 'adjustment', 'expiry', 'hold', 'capture', 'release', 'refund'],
    },
    roles: gatewayRoles,
  }),
  'kinora.money.held': gauge({
    unit: '{currency}',
    help: 'Money that is held for open tasks and requests, in units of the currency.',
    labels: { wallet: ['payg', 'subscription'] },
    roles: worker,
  }),
  'kinora.money.available': gauge({
    unit: '{currency}',
    help: 'Money that customers can spend, in units of the currency.',
    labels: { wallet: ['payg', 'subscription'] },
    roles: worker,
  }),
  'kinora.money.oldest_hold': gauge({
    unit: 's',
    help: 'The age of the oldest hold; 0 without holds. Requests are released after minutes, tasks after their deadline.',
    labels: { owner: ['video', 'transcription', 'request'] },
    roles: worker,
  }),
  'kinora.ledger.violations': gauge({
    unit: '{violation}',
    help: 'Violations that the last audit of the ledger found. Must be 0.',
    labels: { invariant: 'invariants' },
    roles: worker,
  }),
  'kinora.ledger.difference': gauge({
    unit: '{currency}',
    help: 'Money that is held in the balances minus the holds of open tasks and requests, in units of the currency. Must be 0.',
    labels: {},
    roles: worker,
  }),
  'kinora.ledger.audit.age': gauge({
    unit: 's',
    help: 'Time since the last audit: of recent entries, which runs every minute, and of all, which runs daily.',
    labels: { scope: ['recent', 'full'] },
    roles: worker,
  }),
} satisfies Record<string, MetricRow>

export const securityMetrics = {
  'kinora.certificate.expires_in': gauge({
    unit: 's',
    help: 'Time until the certificate at PUBLIC_URL expires, negative once it has. Each worker reads it every hour.',
    labels: {},
    roles: worker,
    when: 'PUBLIC_URL begins with https, and a worker has reached it',
  }),
  'kinora.secret.age': gauge({
    unit: 's',
    help: 'The age of the oldest secret in use: keys of operators, and keys of providers that the admin API has stored.',
    labels: { secret: ['operator_key', 'provider_credentials'] },
    roles: worker,
    when: 'there is such a secret',
  }),
} satisfies Record<string, MetricRow>

export const storageMetrics = {
  'kinora.storage.operation.duration': histogram({
    unit: 's',
    help: 'Duration of operations of the media store. An opened stream counts until it is open.',
    labels: {
      operation: ['put', 'receive', 'keep', 'put_file', 'adopt', 'find', 'open', 'copy', 'remove', 'presign'],
      'error.type': ['not_found', 'unavailable', 'too_large', 'aborted', 'internal'],
    },
    buckets: storageSeconds,
    roles: gatewayRoles,
  }),
  'kinora.storage.io': counter({
    unit: 'By',
    help: 'Bytes written to and read from the media store.',
    labels: { direction: ['read', 'write'] },
    roles: gatewayRoles,
  }),
  'kinora.storage.free': gauge({
    unit: 'By',
    help: 'Free space in the file system of uploads, downloads and, without a bucket, media.',
    labels: {},
    roles: gatewayRoles,
  }),
  'kinora.storage.problem': gauge({
    unit: '{state}',
    help: '1 while the media store reports a problem, such as a bucket that cannot be reached, else 0.',
    labels: {},
    roles: api,
  }),
  'kinora.storage.orphans.removed': counter({
    unit: '{file}',
    help: 'Files without a record that the daily sweep removed.',
    labels: {},
    roles: worker,
  }),
  'kinora.storage.removals.waiting': gauge({
    unit: '{removal}',
    help: 'Files and jobs at providers whose removal has been requested and not done yet.',
    labels: { of: ['file', 'job'] },
    roles: worker,
  }),
} satisfies Record<string, MetricRow>

export const webhookMetrics = {
  'kinora.webhooks.attempts': counter({
    unit: '{attempt}',
    help: 'Attempts to deliver a webhook. `failed` is repeated, `rejected` and `gone` are not.',
    labels: { result: ['delivered', 'failed', 'rejected', 'gone'] },
    roles: worker,
  }),
  'kinora.webhooks.attempt.duration': histogram({
    unit: 's',
    help: 'Duration of an attempt, with the lookup of the name and the connection.',
    labels: { result: ['delivered', 'failed', 'rejected', 'gone'] },
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    roles: worker,
  }),
  'kinora.events.delay': gauge({
    unit: 's',
    help: 'Age of the oldest event that the event feed does not show yet, because an older transaction is still open. 0 if there is none.',
    labels: {},
    roles: worker,
  }),
  'kinora.webhooks.attempts.open': gauge({
    unit: '{attempt}',
    help: 'Attempts under way, at most WEBHOOK_ATTEMPTS.',
    labels: {},
    roles: worker,
  }),
} satisfies Record<string, MetricRow>

export const engineMetrics = {
  'kinora.engine.findings': counter({
    unit: '{finding}',
    help: 'Differences between the engine and the database that were found and repaired.',
    labels: { finding: ['stopped_loop', 'lost_run', 'overdue_run', 'paused', 'outdated'] },
    roles: worker,
  }),
  'kinora.engine.invocations': gauge({
    unit: '{invocation}',
    help: 'Invocations that the engine has not ended, by state, at the last comparison by this worker.',
    labels: {
      state: ['pending', 'scheduled', 'ready', 'running', 'backing-off', 'suspended', 'paused', 'inboxed'],
    },
    roles: worker,
  }),
  'kinora.engine.comparison.age': gauge({
    unit: 's',
    help: 'Time since a worker last compared the engine with the database.',
    labels: {},
    roles: worker,
  }),
  'kinora.engine.invocation.duration': histogram({
    unit: 's',
    help: 'Duration of the steps that the engine had this worker execute.',
    labels: { service: 'services', outcome: ['done', 'failed'] },
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    roles: worker,
  }),
  'kinora.engine.loop.lag': histogram({
    unit: 's',
    help: 'How late the engine delivered the scheduled ticks of loops.',
    labels: { service: 'services' },
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
    roles: worker,
  }),
} satisfies Record<string, MetricRow>

export const mediaMetrics = {
  'kinora.media.queue.entries': gauge({
    unit: '{entry}',
    help: 'Media programs and downloads for callers, running and waiting.',
    labels: { queue: ['programs', 'downloads', 'images'], state: ['running', 'waiting'] },
    roles: api,
  }),
  'kinora.media.queue.duration': histogram({
    unit: 's',
    help: 'How long media programs and downloads for callers waited to start.',
    labels: { queue: ['programs', 'downloads', 'images'] },
    buckets: waitSeconds,
    roles: api,
    when: onUse,
  }),
  'kinora.media.program.duration': histogram({
    unit: 's',
    help: 'Duration of ffmpeg and ffprobe on files of callers and results. `cpu_limit`, `timeout` and `killed` were ended by force.',
    labels: {
      program: ['ffmpeg', 'ffprobe'],
      outcome: ['done', 'invalid_file', 'cpu_limit', 'timeout', 'aborted', 'killed', 'unavailable'],
    },
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
    roles: gatewayRoles,
    when: onUse,
  }),
} satisfies Record<string, MetricRow>
