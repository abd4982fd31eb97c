/** What needs attention, with the thresholds of the alerts of `deploy/observability`. */
import { severities, type Attention, type AttentionCode } from '@kinora/contract/operations/admin/overview'

import { heartbeatSecondsMax } from '../../platform/engine/supervise-engine.ts'
import type { TaskReading } from '../../readings/task-readings-store.ts'
import { remedyFor } from '../../routing/route.ts'
import { secondsOf, secondsOrNull } from '../unix-time.ts'
import { removalHoursMax, type Facts, type ProviderFacts } from './attention-facts.ts'
import { keyExpiryDays } from './attention-store.ts'

const waitSecondsMax = 600
const auditSecondsMax = 600
const fullAuditSecondsMax = 26 * 3600
const holdSecondsMax = { video: 4_500, transcription: 4_500, request: 1_800 }
const freeBytesMin = 2 * 1024 ** 3
const shutdownNoticeDays = 30
const daySeconds = 86_400

const runbooks = 'https://github.com/kinora/kinora/blob/main/docs/runbooks/'

const attention = (
  code: AttentionCode,
  severity: (typeof severities)[number],
  title: string,
  text: string,
  rest: Partial<Pick<Attention, 'since' | 'subject' | 'count' | 'link'>> & { runbook?: string } = {},
): Attention => ({
  ...{ code, severity, title, text },
  since: rest.since ?? null,
  subject: rest.subject ?? null,
  count: Math.max(1, rest.count ?? 1),
  runbook_url: rest.runbook === undefined ? null : `${runbooks}${rest.runbook}.md`,
  link: rest.link ?? null,
})

const minutes = (seconds: number) => `${Math.round(seconds / 60)} min`
const numbered = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`

const ofProvider = ({ name, problem, refusesCredential, openModels, reason, budget }: ProviderFacts) => {
  const about = {
    subject: { type: 'provider', id: name } as const,
    link: `/admin/v1/providers/${encodeURIComponent(name)}`,
  }
  const found: Attention[] = []
  if (problem !== null) {
    found.push(attention('provider_unusable', 'page', `${name} cannot be used`, problem, about))
  }
  if (refusesCredential) {
    const title = `${name} refuses its API key`
    const runbook = 'provider-rejects-key'
    found.push(
      attention('provider_credential_refused', 'page', title, remedyFor(name), { ...about, runbook }),
    )
  } else if (openModels.length > 0) {
    const text = `The circuit breaker is open for ${openModels.slice(0, 5).join(', ')}: ${reason ?? 'calls failed'}. Other routes get the work; without one, tasks wait.`
    const more = { ...about, count: openModels.length, runbook: 'breaker-open' }
    found.push(attention('provider_breaker_open', 'ticket', `Calls to ${name} fail`, text, more))
  }
  if (budget?.isSpent === true) {
    const text = budget.isStopped
      ? 'It gets no new work until 00:00 UTC. Raise the budget, or let another route do the work.'
      : 'It still gets new work, so the costs continue. Raise the budget, or set budget_stops.'
    const more = { ...about, runbook: 'provider-budget' }
    found.push(attention('provider_budget_spent', 'page', `The budget of ${name} is spent`, text, more))
  } else if (budget?.isAlerted === true) {
    const title = `${Math.floor(budget.share * 100)} % of the budget of ${name} is spent`
    const text = 'What ended today and what is in flight has nearly reached the budget of the day.'
    const more = { ...about, runbook: 'provider-budget' }
    found.push(attention('provider_budget_alert', 'ticket', title, text, more))
  }
  return found
}

const sum = <Item>(items: Item[], read: (item: Item) => number) =>
  items.reduce((total, item) => total + read(item), 0)

const ofTasks = ({ videos, transcriptions, now }: Facts): Attention[] => {
  const found: Attention[] = []
  const queued = [...videos, ...transcriptions].filter(({ stage }) => stage === 'accepted')
  const late = queued.filter(({ oldestSeconds }) => oldestSeconds > waitSecondsMax)
  const [oldest] = late.toSorted((a, b) => b.oldestSeconds - a.oldestSeconds)
  const tasks = '/admin/v1/tasks?status=pending'
  if (oldest !== undefined) {
    const { provider, oldestSeconds } = oldest
    const where = provider === undefined ? 'A transcription task' : `A task for ${provider}`
    found.push(
      attention(
        'task_waiting_long',
        'page',
        `${where} waits for ${minutes(oldestSeconds)}`,
        `${numbered(
          sum(late, (row) => row.tasks),
          'task is',
          'tasks are',
        )} in a queue whose oldest task waits for more than ${minutes(waitSecondsMax)}. Check slots, breakers and workers.`,
        {
          since: Math.floor(now - oldestSeconds),
          subject: provider === undefined ? null : { type: 'provider', id: provider },
          runbook: 'oldest-task-waiting',
          link: provider === undefined ? tasks : `${tasks}&provider=${encodeURIComponent(provider)}`,
        },
      ),
    )
  }
  const count = (read: (row: TaskReading) => number) => sum([...videos, ...transcriptions], read)
  const pastDeadline = count((row) => row.pastDeadline)
  if (pastDeadline > 0) {
    const title = `${numbered(pastDeadline, 'task is', 'tasks are')} open past the deadline`
    const text = 'Nobody ends them, and their money stays held. Check the workers and the engine.'
    const more = {
      count: pastDeadline,
      runbook: 'tasks-past-deadline',
      link: '/admin/v1/tasks?status=processing',
    }
    found.push(attention('tasks_past_deadline', 'page', title, text, more))
  }
  const overdue = sum(videos, (row) => row.pollsOverdue)
  if (overdue > 0) {
    const title = `${numbered(overdue, 'job is', 'jobs are')} not polled in time`
    const text = 'Finished videos are noticed late. Check the workers and the engine.'
    found.push(attention('polls_overdue', 'page', title, text, { count: overdue, runbook: 'polls-overdue' }))
  }
  const unknown = sum(videos, (row) => row.submitsUnknown)
  if (unknown > 0) {
    const title = `The outcome of ${numbered(unknown, 'submit', 'submits')} is unknown`
    const text = 'The provider may have a job that nobody polls. Look there, then resolve the tasks.'
    const more = { count: unknown, runbook: 'submits-unknown', link: '/admin/v1/tasks?status=processing' }
    found.push(attention('submits_unknown', 'ticket', title, text, more))
  }
  return found
}

const ofMoney = ({ slow: { audit, holds }, now }: Facts): Attention[] => {
  const found: Attention[] = []
  const link = '/admin/v1/ledger/audit'
  if (audit !== undefined && !audit.isSound) {
    const text = `The last audit found ${numbered(audit.violations, 'violation', 'violations')}. Do not correct balances before you know the cause.`
    const more = { count: audit.violations, runbook: 'ledger-violation', link }
    found.push(attention('ledger_violation', 'page', 'The ledger violates an invariant', text, more))
  }
  const isLate =
    audit !== undefined &&
    (audit.checkedAgoMs > auditSecondsMax * 1000 || audit.fullAuditAgoMs > fullAuditSecondsMax * 1000)
  if (isLate) {
    const since = Math.floor(now - audit.checkedAgoMs / 1000)
    const text = 'A worker audits recent entries every minute and all entries every day. Check the workers.'
    const more = { since, runbook: 'audit-late', link }
    found.push(attention('ledger_audit_late', 'page', 'The ledger is not audited', text, more))
  }
  const owners = (['video', 'transcription', 'request'] as const).filter(
    (owner) => (holds[owner] ?? 0) > holdSecondsMax[owner],
  )
  const [owner] = owners
  if (owner !== undefined) {
    const seconds = holds[owner] ?? 0
    const title = `Money is held for a ${owner} for ${minutes(seconds)}`
    const text = 'A customer cannot spend it. Find the task or the request, and end it.'
    const more = { since: Math.floor(now - seconds), count: owners.length, runbook: 'hold-too-old' }
    found.push(attention('holds_too_old', 'ticket', title, text, more))
  }
  return found
}

const ofKeys = ({ slow: { keys } }: Facts): Attention[] =>
  keys.map(({ isOperator, keys: count, id, name, expiresAt }) => {
    const what = isOperator ? 'operator key' : 'key'
    const title = `${numbered(count, `${what} expires`, `${what}s expire`)} within ${keyExpiryDays} days`
    const text = `The first is "${name}", on ${expiresAt.toISOString().slice(0, 10)}. Extend it or create another one.`
    return attention('key_expires', isOperator ? 'ticket' : 'notice', title, text, {
      subject: { type: isOperator ? 'operator_key' : 'key', id },
      count,
      link: `/admin/v1/keys/${id}`,
    })
  })

const ofWebhooks = ({ slow: { webhooks } }: Facts): Attention[] => {
  const found: Attention[] = []
  const account = (id: string | null) =>
    id === null ? {} : { subject: { type: 'account' as const, id }, link: `/admin/v1/accounts/${id}` }
  if (webhooks.disabled > 0) {
    const title = `${numbered(webhooks.disabled, 'webhook endpoint was', 'webhook endpoints were')} disabled`
    const text = 'They failed for days or were gone. Tell the customers, who can enable them again.'
    const since = secondsOrNull(webhooks.disabledSince)
    const more = { ...account(webhooks.disabledAccount), since, count: webhooks.disabled }
    found.push(attention('webhook_endpoint_disabled', 'notice', title, text, more))
  }
  if (webhooks.failing > 0) {
    const title = numbered(webhooks.failing, 'webhook endpoint fails', 'webhook endpoints fail')
    const text =
      'Every attempt of the last hour failed. The customers miss events until their servers accept them.'
    const since = secondsOrNull(webhooks.failingSince)
    const more = { ...account(webhooks.failingAccount), since, count: webhooks.failing }
    found.push(attention('webhook_endpoint_failing', 'notice', title, text, more))
  }
  if (webhooks.failed > 0) {
    const title = `${numbered(webhooks.failed, 'webhook was', 'webhooks were')} not delivered`
    const text = 'All attempts of the last 24 hours failed. Customers can request them again.'
    const since = secondsOrNull(webhooks.failedSince)
    const more = { ...account(webhooks.failedAccount), since, count: webhooks.failed }
    found.push(attention('webhook_deliveries_failed', 'notice', title, text, more))
  }
  return found
}

const ofModels = ({ models, now }: Facts): Attention[] =>
  models.flatMap(({ id, state, shutdownDate, successor }) => {
    if (shutdownDate === undefined || state === 'retired') return []
    const at = Date.parse(`${shutdownDate}T00:00:00Z`) / 1000
    if (at > now + shutdownNoticeDays * daySeconds || at < now - shutdownNoticeDays * daySeconds) return []
    const more = {
      since: at > now ? null : at,
      subject: { type: 'model' as const, id },
      link: `/admin/v1/models/${encodeURIComponent(id)}`,
    }
    const use = successor === undefined ? 'It has no successor.' : `Its successor is ${successor}.`
    return at > now
      ? [
          attention(
            'model_shuts_down',
            'notice',
            `${id} is shut down on ${shutdownDate}`,
            `Requests are refused from then on. ${use}`,
            more,
          ),
        ]
      : [
          attention(
            'model_shut_down',
            'notice',
            `${id} was shut down on ${shutdownDate}`,
            `Requests are refused. ${use}`,
            more,
          ),
        ]
  })

const ofInstance = ({
  workerAge,
  slow: { removals },
  freeBytes,
  storageProblem,
  now,
}: Facts): Attention[] => {
  const found: Attention[] = []
  if (workerAge === undefined || workerAge > heartbeatSecondsMax) {
    const text =
      'No worker has reached the engine for a minute, so no task progresses. Start a worker, and check Restate.'
    const since = workerAge === undefined ? null : Math.floor(now - workerAge)
    const more = { since, runbook: 'role-down', link: '/admin/v1/health' }
    found.push(attention('worker_not_seen', 'page', 'No worker is seen', text, more))
  }
  if (freeBytes !== undefined && freeBytes < freeBytesMin) {
    const title = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB of disk space are free`
    const text =
      'Uploads and results need space. Without it, uploads are rejected and results are not stored.'
    found.push(attention('disk_low', 'page', title, text, { runbook: 'disk-low' }))
  }
  if (storageProblem !== undefined) {
    const more = { runbook: 'media-store-problem' }
    found.push(
      attention('media_store_problem', 'page', 'The media store has a problem', storageProblem, more),
    )
  }
  if (removals.removals > 0 && removals.since !== null) {
    const title = `${numbered(removals.removals, 'deletion is', 'deletions are')} not done`
    const text = `They were requested more than ${removalHoursMax} hours ago. Deleted media may still be stored.`
    const more = { since: secondsOf(removals.since), count: removals.removals, runbook: 'removals-waiting' }
    found.push(attention('removals_waiting', 'ticket', title, text, more))
  }
  return found
}

/** Most severe first. */
export const findAttention = (facts: Facts): Attention[] => {
  const found = [
    ...ofInstance(facts),
    ...ofMoney(facts),
    ...facts.providers.flatMap(ofProvider),
    ...ofTasks(facts),
    ...ofKeys(facts),
    ...ofWebhooks(facts),
    ...ofModels(facts),
  ]
  return severities.flatMap((severity) => found.filter((each) => each.severity === severity))
}
