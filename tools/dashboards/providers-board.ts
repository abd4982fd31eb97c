/** Which provider is slow, which refuses, which is used, and which is expensive? */
import { chart, figure, growth, orZero, quantile, rate, type Board } from './board.ts'

const calls = 'gen_ai_client_operation_duration_seconds'
const firstChunk = 'gen_ai_client_operation_time_to_first_chunk_seconds'
const chosen = 'gen_ai_provider_name=~"$provider"'
const name = 'gen_ai_provider_name'
const breakerWords = { 0: 'closed', 1: 'half-open', 2: 'open' }

export const providersBoard: Board = {
  title: 'providers',
  description: 'Which provider is slow, which refuses, which is used, and which is expensive?',
  variables: [{ name: 'provider', label: 'Provider', metric: 'kinora_provider_slots_limit', values: name }],
  rows: {
    Now: [
      figure({
        title: 'Open circuit breakers',
        help: 'Routes that get no tasks or calls because their provider fails. The panel “Circuit breakers” names them.',
        unit: 'count',
        queries: {
          open: `count(max by (model, ${name}) (kinora_route_breaker_state{${chosen}}) == 2) or vector(0)`,
        },
        limits: { bad: 1 },
      }),
      figure({
        title: 'Providers that refuse our key',
        help: 'Calls are withheld until the credential is replaced.',
        unit: 'count',
        queries: { refused: `sum(max by (${name}) (kinora_provider_unauthorized{${chosen}}))` },
        limits: { bad: 1 },
      }),
      figure({
        title: 'Calls that failed',
        help: 'The share of calls in this time range that failed, whatever the reason.',
        unit: 'share',
        queries: {
          share: `${orZero(growth(`${calls}_count`, [], `${chosen}, error_type!=""`))} / ${growth(`${calls}_count`, [], chosen)}`,
        },
        limits: { warn: 0.02, bad: 0.1 },
      }),
      figure({
        title: 'Busiest provider',
        help: 'The largest share of its slots for tasks that a provider has in use. At 100 % further tasks wait.',
        unit: 'share',
        queries: {
          used: `max(max by (${name}) (kinora_provider_slots_used{${chosen}, slot="task"}) / max by (${name}) (kinora_provider_slots_limit{${chosen}, slot="task"}))`,
        },
        limits: { warn: 0.8, bad: 1 },
        next: 'tasks',
      }),
    ],
    'Which is slow': [
      chart({
        title: 'Slowest 5 % of calls',
        help: '95 % of the calls were faster. A stream counts until it opens.',
        unit: 'seconds',
        queries: {
          [`{{${name}}} {{gen_ai_operation_name}}`]: quantile(
            0.95,
            calls,
            [name, 'gen_ai_operation_name'],
            chosen,
          ),
        },
      }),
      chart({
        title: 'Slowest 5 % until the first byte',
        help: 'How long speech, streams and downloads wait for the first byte of their content.',
        unit: 'seconds',
        queries: {
          [`{{${name}}} {{gen_ai_operation_name}}`]: quantile(
            0.95,
            firstChunk,
            [name, 'gen_ai_operation_name'],
            chosen,
          ),
        },
      }),
      chart({
        title: 'Jobs, from the submit to the result',
        help: 'How long half of the tasks spent at the provider, and all but the slowest 5 %.',
        unit: 'seconds',
        queries: {
          [`half at {{${name}}}`]: quantile(
            0.5,
            'kinora_task_stage_duration_seconds',
            [name],
            `${chosen}, stage="provider"`,
          ),
          [`95 % at {{${name}}}`]: quantile(
            0.95,
            'kinora_task_stage_duration_seconds',
            [name],
            `${chosen}, stage="provider"`,
          ),
        },
        next: 'tasks',
      }),
    ],
    'Which refuses': [
      chart({
        title: 'Errors by kind',
        help: '`busy` is a limit of the provider, `unauthorized` our key, `unknown` a submit without an answer, `moderated` and `rejected` the request of a customer.',
        unit: 'per second',
        queries: {
          [`{{${name}}} {{error_type}}`]: rate(
            `${calls}_count`,
            [name, 'error_type'],
            `${chosen}, error_type!=""`,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Share of failed calls',
        help: 'The share of calls to each provider that failed.',
        unit: 'share',
        queries: {
          [`{{${name}}}`]: `${rate(`${calls}_count`, [name], `${chosen}, error_type!=""`)} / ${rate(`${calls}_count`, [name], chosen)}`,
        },
        limits: { warn: 0.02, bad: 0.1 },
      }),
      chart({
        title: 'Circuit breakers',
        help: 'The worst state that any process knows. An open one is tried again by itself after a while.',
        unit: 'count',
        queries: {
          [`{{model}} at {{${name}}}`]: `max by (model, ${name}) (kinora_route_breaker_state{${chosen}})`,
        },
        words: breakerWords,
      }),
      chart({
        title: 'Key refused',
        help: 'Providers that refuse our credential. Replace it; `kinora doctor` tests it.',
        unit: 'count',
        queries: { [`{{${name}}}`]: `max by (${name}) (kinora_provider_unauthorized{${chosen}})` },
        words: { 0: 'accepted', 1: 'refused' },
      }),
      chart({
        title: 'Unknown submits',
        help: 'Tasks whose provider may or may not have a job. They wait until that is known, or for their deadline.',
        unit: 'count',
        queries: { [`{{${name}}}`]: `max by (${name}) (kinora_tasks_submits_unknown{${chosen}})` },
        limits: { warn: 1 },
        next: 'tasks',
      }),
      chart({
        title: 'Late polls',
        help: 'How late the latest poll is. If it rises, workers or the engine are behind.',
        unit: 'seconds',
        queries: { [`{{${name}}}`]: `max by (${name}) (kinora_tasks_poll_lateness_seconds{${chosen}})` },
        limits: { warn: 10 },
      }),
    ],
    'Which is used': [
      chart({
        title: 'Choices',
        help: 'How often each provider was chosen for a task or a call. It shows failover to another provider.',
        unit: 'per second',
        queries: {
          [`{{${name}}} {{capability}}`]: rate('kinora_routes_chosen_total', [name, 'capability'], chosen),
        },
        isStacked: true,
      }),
      chart({
        title: 'Choices by model',
        help: 'The same by model.',
        unit: 'per second',
        queries: {
          [`{{model}} at {{${name}}}`]: rate('kinora_routes_chosen_total', ['model', name], chosen),
        },
        isStacked: true,
      }),
      chart({
        title: 'Calls',
        help: 'Calls per second, by what they are for.',
        unit: 'per second',
        queries: {
          [`{{${name}}} {{gen_ai_operation_name}}`]: rate(
            `${calls}_count`,
            [name, 'gen_ai_operation_name'],
            chosen,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Slots for tasks',
        help: 'Tasks in flight at each provider, and how many it may have.',
        unit: 'count',
        queries: {
          [`{{${name}}} used`]: `max by (${name}) (kinora_provider_slots_used{${chosen}, slot="task"})`,
          [`{{${name}}} limit`]: `max by (${name}) (kinora_provider_slots_limit{${chosen}, slot="task"})`,
        },
      }),
      chart({
        title: 'Slots for calls',
        help: 'Synchronous calls in flight, of all API processes, and how many they may have together.',
        unit: 'count',
        queries: {
          [`{{${name}}} used`]: `sum by (${name}) (kinora_provider_slots_used{${chosen}, slot="call"})`,
          [`{{${name}}} limit`]: `sum by (${name}) (kinora_provider_slots_limit{${chosen}, slot="call"})`,
        },
      }),
      chart({
        title: 'Calls by upstream model',
        help: 'Calls per second by the name that the provider gives the model.',
        unit: 'per second',
        queries: {
          [`{{gen_ai_request_model}} at {{${name}}}`]: rate(
            `${calls}_count`,
            ['gen_ai_request_model', name],
            chosen,
          ),
        },
        isStacked: true,
      }),
    ],
    'Which is expensive': [
      chart({
        title: 'Spent today',
        help: 'What a provider with a daily budget has cost since midnight (UTC), and its budget, in units of the currency.',
        unit: 'money',
        queries: {
          [`{{${name}}} spent`]: `max by (${name}) (kinora_provider_spend{${chosen}})`,
          [`{{${name}}} budget`]: `max by (${name}) (kinora_provider_budget{${chosen}})`,
        },
      }),
      chart({
        title: 'Share of the budget',
        help: 'At 100 % a provider whose budget stops it gets no new work until midnight (UTC). Raise the budget, or let other providers take over.',
        unit: 'share',
        queries: {
          [`{{${name}}}`]: `max by (${name}) (kinora_provider_spend{${chosen}}) / max by (${name}) (kinora_provider_budget{${chosen}})`,
        },
        limits: { warn: 0.8, bad: 1 },
      }),
    ],
  },
}
