/** Metrics of requests, calls to providers, tasks and routes. */
import { counter, gauge, histogram, type MetricRow } from './metric-row.ts'

const gatewayRoles = ['api', 'worker'] as const
const worker = ['worker'] as const
const api = ['api'] as const
const taskKinds = ['video', 'transcription'] as const
const taskSeconds = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
const callSeconds = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const callNames = [
  'video_submit',
  'video_poll',
  'video_download',
  'video_lookup',
  'video_cancel',
  'video_discard',
  'speech',
  'transcription',
  'translation',
  'chat',
] as const
const callErrors = [
  'not_delivered',
  'busy',
  'unauthorized',
  'rejected',
  'moderated',
  'unknown',
  'aborted',
  'internal',
] as const

export const httpMetrics = {
  'http.server.request.duration': histogram({
    unit: 's',
    help: 'Duration of requests from their headers to the last byte of the response. Health checks are not included.',
    labels: { operation: 'operations', 'http.response.status_code': 'statuses', 'error.type': 'errors' },
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 60],
    roles: api,
  }),
  'kinora.admission.in_flight': gauge({
    unit: '{amount}',
    help: 'What requests in flight use: requests, uploads, bytes in memory, bytes on disk.',
    labels: { resource: ['requests', 'uploads', 'body_bytes', 'spool_bytes'] },
    roles: api,
  }),
  'kinora.admission.rejections': counter({
    unit: '{rejection}',
    help: 'Requests and connections that were rejected to protect the service, by reason.',
    labels: {
      reason: [
        'overload',
        'rate_limit',
        'concurrency',
        'bytes',
        'media_work',
        'provider_slots',
        'queue_length',
        'queue_wait',
        'connections',
        'slow_client',
      ],
    },
    roles: api,
  }),
  'kinora.request_log.dropped': counter({
    unit: '{request}',
    help: 'Requests without a row in the request log, because the database was unreachable for too long.',
    labels: {},
    roles: api,
  }),
} satisfies Record<string, MetricRow>

export const providerMetrics = {
  'gen_ai.client.operation.duration': histogram({
    unit: 's',
    help: 'Duration of calls to providers, until the end of the response or, if it is a stream, until it opens.',
    labels: {
      'gen_ai.operation.name': callNames,
      'gen_ai.provider.name': 'providers',
      'gen_ai.request.model': 'upstream models',
      'error.type': callErrors,
    },
    buckets: callSeconds,
    roles: gatewayRoles,
  }),
  'gen_ai.client.operation.time_to_first_chunk': histogram({
    unit: 's',
    help: 'Time until the first byte of the content of a provider, for speech, streams and downloads.',
    labels: {
      'gen_ai.operation.name': callNames,
      'gen_ai.provider.name': 'providers',
      'gen_ai.request.model': 'upstream models',
    },
    buckets: callSeconds,
    roles: gatewayRoles,
  }),
  'kinora.provider.spend': gauge({
    unit: '{currency}',
    help: 'What a provider with a daily budget has cost today (UTC), with jobs in flight, in units of the currency.',
    labels: { 'gen_ai.provider.name': 'providers' },
    roles: worker,
    when: 'a provider has a budget',
  }),
  'kinora.provider.budget': gauge({
    unit: '{currency}',
    help: 'The daily budget of a provider, in units of the currency.',
    labels: { 'gen_ai.provider.name': 'providers' },
    roles: worker,
    when: 'a provider has a budget',
  }),
} satisfies Record<string, MetricRow>

export const taskMetrics = {
  'kinora.tasks.accepted': counter({
    unit: '{task}',
    help: 'Tasks that were accepted and paid for.',
    labels: { kind: taskKinds, model: 'models' },
    roles: api,
  }),
  'kinora.tasks.ended': counter({
    unit: '{task}',
    help: 'Tasks that ended. The API ends tasks that are cancelled, a worker all others.',
    labels: {
      kind: taskKinds,
      model: 'models',
      outcome: ['completed', 'failed', 'cancelled'],
      'error.type': 'task errors',
    },
    roles: gatewayRoles,
  }),
  'kinora.task.stage.duration': histogram({
    unit: 's',
    help: 'How long the stages of tasks took that have ended; `total` is from the create to the end.',
    labels: {
      kind: taskKinds,
      stage: ['queue', 'provider', 'store', 'transcribe', 'total'],
      'gen_ai.provider.name': 'providers',
    },
    buckets: taskSeconds,
    roles: gatewayRoles,
  }),
  'kinora.task.retries': counter({
    unit: '{retry}',
    help: 'What had to be repeated for tasks: submits that a provider refused, polls and downloads that failed, lost runs.',
    labels: { kind: taskKinds, stage: ['submit', 'poll', 'download', 'segment', 'run'] },
    roles: worker,
  }),
  'kinora.tasks.queued': gauge({
    unit: '{task}',
    help: 'Tasks that wait to be started.',
    labels: { kind: taskKinds, 'gen_ai.provider.name': 'providers' },
    roles: worker,
  }),
  'kinora.tasks.oldest_wait': gauge({
    unit: 's',
    help: 'How long the oldest task in the queue has waited; 0 if none waits.',
    labels: { kind: taskKinds, 'gen_ai.provider.name': 'providers' },
    roles: worker,
  }),
  'kinora.tasks.in_flight': gauge({
    unit: '{task}',
    help: 'Tasks that were started and have not ended, by stage.',
    labels: {
      kind: taskKinds,
      'gen_ai.provider.name': 'providers',
      stage: ['starting', 'submitting', 'waiting', 'storing', 'working'],
    },
    roles: worker,
  }),
  'kinora.tasks.past_deadline': gauge({
    unit: '{task}',
    help: 'Open tasks whose deadline passed more than three minutes ago. Must be 0.',
    labels: { kind: taskKinds },
    roles: worker,
  }),
  'kinora.tasks.polls_overdue': gauge({
    unit: '{task}',
    help: 'Jobs whose poll is more than ten seconds late.',
    labels: { 'gen_ai.provider.name': 'providers' },
    roles: worker,
  }),
  'kinora.tasks.poll_lateness': gauge({
    unit: 's',
    help: 'How late the latest poll is; 0 if none is due.',
    labels: { 'gen_ai.provider.name': 'providers' },
    roles: worker,
  }),
  'kinora.tasks.submits_unknown': gauge({
    unit: '{task}',
    help: 'Tasks after a submit with unknown outcome: the provider may or may not have a job.',
    labels: { 'gen_ai.provider.name': 'providers' },
    roles: worker,
  }),
} satisfies Record<string, MetricRow>

export const routingMetrics = {
  'kinora.routes.chosen': counter({
    unit: '{choice}',
    help: 'Choices of a provider for a task or a call.',
    labels: {
      model: 'models',
      'gen_ai.provider.name': 'providers',
      capability: ['video', 'transcription', 'speech', 'dialogue'],
    },
    roles: gatewayRoles,
  }),
  'kinora.route.breaker.state': gauge({
    unit: '{state}',
    help: 'The circuit breaker of a route as this process knows it: 0 closed, 1 half-open or just recovered, 2 open.',
    labels: { model: 'models', 'gen_ai.provider.name': 'providers' },
    roles: gatewayRoles,
  }),
  'kinora.provider.unauthorized': gauge({
    unit: '{state}',
    help: '1 while calls are withheld because the provider refuses our credential, else 0.',
    labels: { 'gen_ai.provider.name': 'providers' },
    roles: gatewayRoles,
  }),
  'kinora.provider.slots.limit': gauge({
    unit: '{slot}',
    help: 'How many tasks the provider may have in flight in all, and synchronous calls per API process.',
    labels: { 'gen_ai.provider.name': 'providers', slot: ['task', 'call'] },
    roles: gatewayRoles,
  }),
  'kinora.provider.slots.used': gauge({
    unit: '{slot}',
    help: 'How many of these slots are in use. A worker reports those of tasks, each API process its own calls.',
    labels: { 'gen_ai.provider.name': 'providers', slot: ['task', 'call'] },
    roles: gatewayRoles,
  }),
} satisfies Record<string, MetricRow>
