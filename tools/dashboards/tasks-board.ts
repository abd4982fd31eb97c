/** Where do tasks wait, and how do they end? */
import { chart, figure, growth, orZero, quantile, rate, type Board } from './board.ts'

const chosen = 'kind=~"$kind"'
const name = 'gen_ai_provider_name'
const stages = 'kinora_task_stage_duration_seconds'

export const tasksBoard: Board = {
  title: 'tasks',
  description: 'Where do tasks wait, and how do they end?',
  variables: [{ name: 'kind', label: 'Kind', metric: 'kinora_tasks_queued', values: 'kind' }],
  rows: {
    Now: [
      figure({
        title: 'In the queue',
        help: 'Tasks that wait to be started.',
        unit: 'count',
        queries: { queued: `sum(max by (kind, ${name}) (kinora_tasks_queued{${chosen}}))` },
      }),
      figure({
        title: 'Oldest in the queue',
        help: 'How long the oldest of them waits. If it rises, the slots of a provider are in use, or no worker starts tasks.',
        unit: 'seconds',
        queries: { wait: `max(kinora_tasks_oldest_wait_seconds{${chosen}})` },
        limits: { warn: 60, bad: 600 },
      }),
      figure({
        title: 'In flight',
        help: 'Tasks that were started and have not ended.',
        unit: 'count',
        queries: { started: `sum(max by (kind, ${name}, stage) (kinora_tasks_in_flight{${chosen}}))` },
      }),
      figure({
        title: 'Past their deadline',
        help: 'Open tasks whose deadline passed more than three minutes ago. Must be 0.',
        unit: 'count',
        queries: { late: `sum(max by (kind) (kinora_tasks_past_deadline{${chosen}}))` },
        limits: { bad: 1 },
      }),
      figure({
        title: 'Overdue polls',
        help: 'Jobs whose poll is more than ten seconds late.',
        unit: 'count',
        queries: { late: `sum(max by (${name}) (kinora_tasks_polls_overdue))` },
        limits: { warn: 1, bad: 50 },
      }),
      figure({
        title: 'Failed in this time range',
        help: 'The share of failed tasks among those that completed or failed.',
        unit: 'share',
        queries: {
          share: `${orZero(growth('kinora_tasks_ended_total', [], `${chosen}, outcome="failed"`))} / ${growth('kinora_tasks_ended_total', [], `${chosen}, outcome!="cancelled"`)}`,
        },
        limits: { warn: 0.02, bad: 0.1 },
      }),
    ],
    'Where they wait': [
      chart({
        title: 'Mean time in each stage',
        help: 'What an average task of the last minute spent its time on. `provider` is the work of the provider.',
        unit: 'seconds',
        queries: {
          '{{kind}}: {{stage}}': `${rate(`${stages}_sum`, ['kind', 'stage'], `${chosen}, stage!="total"`)} / ${rate(`${stages}_count`, ['kind', 'stage'], `${chosen}, stage!="total"`)}`,
        },
        isStacked: true,
      }),
      chart({
        title: 'Slowest 5 % of each stage',
        help: '95 % of the tasks spent less time there.',
        unit: 'seconds',
        queries: { '{{kind}}: {{stage}}': quantile(0.95, stages, ['kind', 'stage'], chosen) },
      }),
      chart({
        title: 'In flight by stage',
        help: 'Tasks that were started, by what they do now. Many in `submitting` or `waiting` are at the provider; many in `storing` wait for downloads.',
        unit: 'count',
        queries: {
          '{{kind}}: {{stage}}': `sum by (kind, stage) (max by (kind, ${name}, stage) (kinora_tasks_in_flight{${chosen}}))`,
        },
        isStacked: true,
      }),
      chart({
        title: 'In the queue',
        help: 'Tasks that wait to be started, by the provider that they wait for.',
        unit: 'count',
        queries: { [`{{kind}} {{${name}}}`]: `max by (kind, ${name}) (kinora_tasks_queued{${chosen}})` },
        isStacked: true,
        next: 'providers',
      }),
      chart({
        title: 'Oldest in the queue',
        help: 'How long the oldest of them waits.',
        unit: 'seconds',
        queries: {
          [`{{kind}} {{${name}}}`]: `max by (kind, ${name}) (kinora_tasks_oldest_wait_seconds{${chosen}})`,
        },
        limits: { warn: 60, bad: 600 },
        next: 'providers',
      }),
      chart({
        title: 'Accepted and ended',
        help: 'If more tasks are accepted than end for a long time, the queue grows.',
        unit: 'per second',
        queries: {
          accepted: rate('kinora_tasks_accepted_total', [], chosen),
          ended: rate('kinora_tasks_ended_total', [], chosen),
        },
      }),
    ],
    'How they end': [
      chart({
        title: 'Ended by outcome',
        help: 'Tasks that ended per second.',
        unit: 'per second',
        queries: { '{{kind}}: {{outcome}}': rate('kinora_tasks_ended_total', ['kind', 'outcome'], chosen) },
        isStacked: true,
      }),
      chart({
        title: 'Why they fail',
        help: 'Failed tasks per second, by the code that the customer sees. `kinora tasks why` explains one of them.',
        unit: 'per second',
        queries: {
          '{{error_type}}': rate('kinora_tasks_ended_total', ['error_type'], `${chosen}, outcome="failed"`),
        },
        isStacked: true,
      }),
      chart({
        title: 'Accepted by model',
        help: 'Tasks per second.',
        unit: 'per second',
        queries: { '{{model}}': rate('kinora_tasks_accepted_total', ['model'], chosen) },
        isStacked: true,
      }),
      chart({
        title: 'Repeated work',
        help: 'Submits that a provider refused, polls and downloads that failed, and lost runs, per second.',
        unit: 'per second',
        queries: { '{{kind}}: {{stage}}': rate('kinora_task_retries_total', ['kind', 'stage'], chosen) },
        isStacked: true,
      }),
      chart({
        title: 'Overdue polls',
        help: 'Jobs whose poll is more than ten seconds late, by provider.',
        unit: 'count',
        queries: { [`{{${name}}}`]: `max by (${name}) (kinora_tasks_polls_overdue)` },
        limits: { warn: 1 },
      }),
      chart({
        title: 'Past their deadline',
        help: 'Must be 0. A task is ended by its worker at the deadline.',
        unit: 'count',
        queries: { '{{kind}}': `max by (kind) (kinora_tasks_past_deadline{${chosen}})` },
        limits: { bad: 1 },
      }),
    ],
    'The engine, which schedules their work': [
      figure({
        title: 'Paused invocations',
        help: 'Work that the engine has given up. A worker resumes it at the next comparison.',
        unit: 'count',
        queries: { paused: 'max(kinora_engine_invocations{state="paused"})' },
        limits: { bad: 1 },
      }),
      figure({
        title: 'Last comparison with the database',
        help: 'Time since a worker last compared the engine with the database. If it rises, the engine cannot be reached.',
        unit: 'seconds',
        queries: { age: 'min(kinora_engine_comparison_age_seconds)' },
        limits: { warn: 180, bad: 600 },
      }),
      figure({
        title: 'Differences found',
        help: 'Differences between the engine and the database that were repaired in this time range.',
        unit: 'count',
        queries: { found: growth('kinora_engine_findings_total') },
        limits: { warn: 1 },
      }),
      chart({
        title: 'Lag of loops',
        help: 'How late the engine delivers the ticks of loops, for all but the latest 5 %. Dispatch and polls depend on it.',
        unit: 'seconds',
        queries: { '{{service}}': quantile(0.95, 'kinora_engine_loop_lag_seconds', ['service']) },
        limits: { warn: 1, bad: 5 },
      }),
      chart({
        title: 'Duration of steps',
        help: 'How long 95 % of the steps took at most.',
        unit: 'seconds',
        queries: { '{{service}}': quantile(0.95, 'kinora_engine_invocation_duration_seconds', ['service']) },
      }),
      chart({
        title: 'Invocations',
        help: 'What the engine has not ended, by state.',
        unit: 'count',
        queries: { '{{state}}': 'max by (state) (kinora_engine_invocations)' },
        isStacked: true,
      }),
      chart({
        title: 'Steps',
        help: 'Steps per second. Failed ones are repeated.',
        unit: 'per second',
        queries: {
          '{{service}}: {{outcome}}': rate('kinora_engine_invocation_duration_seconds_count', [
            'service',
            'outcome',
          ]),
        },
        isStacked: true,
      }),
      chart({
        title: 'Differences found',
        help: 'Differences between the engine and the database that were found and repaired.',
        unit: 'per second',
        queries: { '{{finding}}': rate('kinora_engine_findings_total', ['finding']) },
        isStacked: true,
      }),
    ],
  },
}
