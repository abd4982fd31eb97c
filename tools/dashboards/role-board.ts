/** What does one process do? */
import { chart, figure, quantile, rate, type Board } from './board.ts'

const chosen = 'instance=~"$instance"'
const byInstance = ['instance']
const name = 'gen_ai_provider_name'

export const roleBoard: Board = {
  title: 'one role',
  description: 'What does one process do? Choose a role and its processes above.',
  variables: [
    {
      name: 'role',
      label: 'Role',
      metric: 'target_info{service_namespace="kinora"}',
      values: 'service_name',
      isSingle: true,
    },
    {
      name: 'instance',
      label: 'Process',
      metric: 'target_info{service_namespace="kinora", service_name="$role"}',
      values: 'instance',
    },
  ],
  rows: {
    Now: [
      figure({
        title: 'Runs since',
        help: 'Time since the process was started. A short one after a crash: the log names the reason.',
        unit: 'seconds',
        queries: { '{{instance}}': `process_uptime_seconds{${chosen}}` },
        hasNames: true,
      }),
      figure({
        title: 'Version',
        help: 'The version that each process runs.',
        unit: 'count',
        queries: {
          '{{instance}}: {{service_version}}': `target_info{${chosen}, service_namespace="kinora"}`,
        },
        words: { 1: 'running' },
        hasNames: true,
      }),
      figure({
        title: 'Processor',
        help: 'Cores in use. JavaScript uses one; more is for media, encryption and garbage collection.',
        unit: 'cores',
        queries: {
          '{{instance}}': `sum by (instance) (rate(process_cpu_time_seconds_total{${chosen}}[$__rate_interval]))`,
        },
        limits: { warn: 0.8, bad: 1 },
        hasNames: true,
      }),
      figure({
        title: 'Memory',
        help: 'Resident memory.',
        unit: 'bytes',
        queries: { '{{instance}}': `process_memory_usage_bytes{${chosen}}` },
        hasNames: true,
      }),
      figure({
        title: 'Event loop busy',
        help: 'The share of time in which JavaScript ran. Above 80 % requests wait: start another process.',
        unit: 'share',
        queries: { '{{instance}}': `nodejs_eventloop_utilization_ratio{${chosen}}` },
        limits: { warn: 0.8, bad: 0.95 },
        hasNames: true,
      }),
      figure({
        title: 'Delay of the event loop',
        help: 'The 99th percentile since the last scrape.',
        unit: 'seconds',
        queries: { '{{instance}}': `nodejs_eventloop_delay_p99_seconds{${chosen}}` },
        limits: { warn: 0.1, bad: 0.5 },
        hasNames: true,
      }),
    ],
    'The process': [
      chart({
        title: 'Processor',
        help: 'Cores in use.',
        unit: 'cores',
        queries: {
          '{{instance}} {{cpu_mode}}': rate(
            'process_cpu_time_seconds_total',
            ['instance', 'cpu_mode'],
            chosen,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Memory',
        help: 'Resident memory, and what JavaScript uses of it. The rest is buffers and native code.',
        unit: 'bytes',
        queries: {
          '{{instance}} resident': `process_memory_usage_bytes{${chosen}}`,
          '{{instance}} heap': `sum by (instance) (v8js_memory_heap_used_bytes{${chosen}})`,
        },
      }),
      chart({
        title: 'Heap by space',
        help: 'If `old_space` grows for hours, memory leaks.',
        unit: 'bytes',
        queries: {
          '{{v8js_heap_space_name}}': `sum by (v8js_heap_space_name) (v8js_memory_heap_used_bytes{${chosen}})`,
        },
        isStacked: true,
      }),
      chart({
        title: 'Delay of the event loop',
        help: 'Median, 99th percentile and longest delay since the last scrape. A long one holds up all requests of the process.',
        unit: 'seconds',
        queries: {
          '{{instance}} longest': `nodejs_eventloop_delay_max_seconds{${chosen}}`,
          '{{instance}} p99': `nodejs_eventloop_delay_p99_seconds{${chosen}}`,
          '{{instance}} median': `nodejs_eventloop_delay_p50_seconds{${chosen}}`,
        },
      }),
      chart({
        title: 'Event loop busy',
        help: 'The share of time in which JavaScript ran.',
        unit: 'share',
        queries: { '{{instance}}': `nodejs_eventloop_utilization_ratio{${chosen}}` },
        limits: { warn: 0.8, bad: 0.95 },
      }),
      chart({
        title: 'Time since the start',
        help: 'It falls to 0 when a process starts again.',
        unit: 'seconds',
        queries: { '{{instance}}': `process_uptime_seconds{${chosen}}` },
      }),
    ],
    'Database (API and workers)': [
      chart({
        title: 'Waiting for a connection',
        help: 'How long 99 % of the queries waited for a connection at most. If it rises, raise `DATABASE_CONNECTIONS` or find what holds them.',
        unit: 'seconds',
        queries: {
          '{{instance}}': quantile(0.99, 'db_client_connection_wait_time_seconds', byInstance, chosen),
        },
        limits: { warn: 0.1, bad: 1 },
      }),
      chart({
        title: 'Connections',
        help: 'Connections in use and idle, and queries that wait for one.',
        unit: 'count',
        queries: {
          '{{instance}} {{db_client_connection_state}}': `db_client_connection_count{${chosen}}`,
          '{{instance}} waiting': `db_client_connection_pending_requests{${chosen}}`,
        },
      }),
      chart({
        title: 'Mean size of batches',
        help: 'How many calls shared one statement or commit. It rises with the load.',
        unit: 'count',
        queries: {
          '{{batch}}': `${rate('kinora_batch_size_sum', ['batch'], chosen)} / ${rate('kinora_batch_size_count', ['batch'], chosen)}`,
        },
      }),
    ],
    'API only': [
      chart({
        title: 'Requests',
        help: 'Requests per second.',
        unit: 'requests per second',
        queries: {
          '{{instance}} {{operation}}': rate(
            'http_server_request_duration_seconds_count',
            ['instance', 'operation'],
            chosen,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Requests in flight',
        help: 'Requests and uploads that have not ended.',
        unit: 'count',
        queries: {
          '{{instance}} {{resource}}': `kinora_admission_in_flight{${chosen}, resource=~"requests|uploads"}`,
        },
      }),
      chart({
        title: 'Bytes in flight',
        help: 'Bodies of requests in memory, and uploads on disk.',
        unit: 'bytes',
        queries: {
          '{{instance}} {{resource}}': `kinora_admission_in_flight{${chosen}, resource=~"body_bytes|spool_bytes"}`,
        },
      }),
      chart({
        title: 'Media programs and downloads for callers',
        help: 'Running and waiting. If many wait, uploads of many callers are decoded at once.',
        unit: 'count',
        queries: { '{{instance}} {{queue}} {{state}}': `kinora_media_queue_entries{${chosen}}` },
      }),
      chart({
        title: 'Waiting for media programs',
        help: 'How long 95 % of the programs and downloads waited to start at most.',
        unit: 'seconds',
        queries: { '{{queue}}': quantile(0.95, 'kinora_media_queue_duration_seconds', ['queue'], chosen) },
      }),
      chart({
        title: 'Media programs',
        help: 'ffmpeg and ffprobe by how they ended, of API and workers. `cpu_limit`, `timeout` and `killed` were ended by force.',
        unit: 'per second',
        queries: {
          '{{program}} {{outcome}}': rate(
            'kinora_media_program_duration_seconds_count',
            ['program', 'outcome'],
            chosen,
          ),
        },
        isStacked: true,
      }),
    ],
    'Worker only': [
      chart({
        title: 'Steps of the engine',
        help: 'Steps that this worker executes per second.',
        unit: 'per second',
        queries: {
          '{{instance}} {{service}}': rate(
            'kinora_engine_invocation_duration_seconds_count',
            ['instance', 'service'],
            chosen,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Calls to providers (API and workers)',
        help: 'Calls that this process makes per second.',
        unit: 'per second',
        queries: {
          [`{{instance}} {{${name}}}`]: rate(
            'gen_ai_client_operation_duration_seconds_count',
            ['instance', name],
            chosen,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Age of readings',
        help: 'Figures of queues and money are read from the database every 15 seconds. If their age rises, they are out of date.',
        unit: 'seconds',
        queries: { '{{instance}}': `kinora_database_readings_age_seconds{${chosen}}` },
        limits: { warn: 60 },
      }),
    ],
    'Built-in provider only': [
      chart({
        title: 'Requests',
        help: 'Requests to the built-in provider per second.',
        unit: 'requests per second',
        queries: {
          '{{endpoint}} {{http_response_status_code}}': rate(
            'kinora_local_request_duration_seconds_count',
            ['endpoint', 'http_response_status_code'],
            chosen,
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Renders',
        help: 'Videos that are rendered, and that wait for it.',
        unit: 'count',
        queries: { '{{instance}} {{state}}': `kinora_local_renders{${chosen}}` },
      }),
      chart({
        title: 'Duration of renders',
        help: 'How long 95 % of the renders took at most, by how they ended.',
        unit: 'seconds',
        queries: {
          '{{outcome}}': quantile(0.95, 'kinora_local_render_duration_seconds', ['outcome'], chosen),
        },
      }),
      chart({
        title: 'Slowest 5 % of requests',
        help: '95 % of the requests to the built-in provider were faster.',
        unit: 'seconds',
        queries: {
          '{{endpoint}}': quantile(0.95, 'kinora_local_request_duration_seconds', ['endpoint'], chosen),
        },
      }),
    ],
  },
}
