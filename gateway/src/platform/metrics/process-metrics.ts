/** Metrics of the processes and of the built-in provider. */
import { counter, gauge, histogram, type MetricRow } from './metric-row.ts'

const everyRole = ['api', 'worker', 'local'] as const
const gatewayRoles = ['api', 'worker'] as const
const worker = ['worker'] as const
const local = ['local'] as const
const taskSeconds = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
const callSeconds = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const waitSeconds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export const processMetrics = {
  'process.cpu.time': counter({
    unit: 's',
    help: 'Processor time of the process.',
    labels: { 'cpu.mode': ['user', 'system'] },
    roles: everyRole,
  }),
  'process.memory.usage': gauge({
    unit: 'By',
    help: 'Resident memory of the process.',
    labels: {},
    roles: everyRole,
  }),
  'process.uptime': gauge({
    unit: 's',
    help: 'Time since the process was started.',
    labels: {},
    roles: everyRole,
  }),
  'v8js.memory.heap.used': gauge({
    unit: 'By',
    help: 'Memory that is used in the heap.',
    labels: { 'v8js.heap.space.name': 'heap spaces' },
    roles: everyRole,
  }),
  'nodejs.eventloop.delay.p50': gauge({
    unit: 's',
    help: 'Median delay of the event loop since the last scrape.',
    labels: {},
    roles: everyRole,
  }),
  'nodejs.eventloop.delay.p99': gauge({
    unit: 's',
    help: '99th percentile of the delay of the event loop since the last scrape.',
    labels: {},
    roles: everyRole,
  }),
  'nodejs.eventloop.delay.max': gauge({
    unit: 's',
    help: 'Longest delay of the event loop since the last scrape.',
    labels: {},
    roles: everyRole,
  }),
  'nodejs.eventloop.utilization': gauge({
    unit: '1',
    help: 'The share of time in which the event loop was busy since the last scrape.',
    labels: {},
    roles: everyRole,
  }),
  'db.client.connection.wait_time': histogram({
    unit: 's',
    help: 'How long queries and transactions waited for a connection to PostgreSQL.',
    labels: {},
    buckets: waitSeconds,
    roles: gatewayRoles,
  }),
  'db.client.connection.count': gauge({
    unit: '{connection}',
    help: 'Connections in the pool to PostgreSQL.',
    labels: { 'db.client.connection.state': ['idle', 'used'] },
    roles: gatewayRoles,
  }),
  'db.client.connection.pending_requests': gauge({
    unit: '{request}',
    help: 'Queries and transactions that wait for a connection.',
    labels: {},
    roles: gatewayRoles,
  }),
  'kinora.batch.size': histogram({
    unit: '{item}',
    help: 'How many calls shared one statement or commit.',
    labels: {
      batch: [
        'create',
        'read_task',
        'queue_place',
        'settle',
        'begin_submit',
        'record_job',
        'stored_file',
        'current_run',
        'storing_run',
        'retention',
        'rate_limit',
        'meter_open',
        'meter_end',
      ],
    },
    buckets: [1, 2, 5, 10, 20, 50, 100],
    roles: gatewayRoles,
  }),
  'kinora.database.readings.age': gauge({
    unit: 's',
    help: 'The age of the metrics that this worker reads from the database every 15 seconds.',
    labels: {},
    roles: worker,
  }),
} satisfies Record<string, MetricRow>

export const localMetrics = {
  'kinora.local.request.duration': histogram({
    unit: 's',
    help: 'Duration of requests to the built-in provider.',
    labels: {
      endpoint: ['jobs', 'result', 'speech', 'transcriptions', 'translations', 'chat', 'engines', 'other'],
      'http.response.status_code': 'statuses',
    },
    buckets: callSeconds,
    roles: local,
  }),
  'kinora.local.renders': gauge({
    unit: '{render}',
    help: 'Videos that the built-in provider renders, and that wait for it.',
    labels: { state: ['running', 'waiting'] },
    roles: local,
  }),
  'kinora.local.render.duration': histogram({
    unit: 's',
    help: 'Duration of renders.',
    labels: { outcome: ['done', 'failed', 'stopped'] },
    buckets: taskSeconds,
    roles: local,
  }),
} satisfies Record<string, MetricRow>
