/** Is the service fine for customers? */
import { chart, figure, growth, orZero, quantile, rate, type Board } from './board.ts'

const requests = 'http_server_request_duration_seconds'
/** Errors of providers are told apart: customers see them, but the fix is elsewhere. */
const ours = 'http_response_status_code=~"5..", error_type!~"upstream_error|model_overloaded"'
const providers = 'error_type=~"upstream_error|model_overloaded"'
const failed = 'outcome="failed"'

export const serviceBoard: Board = {
  title: 'service',
  description: 'Is the service fine for customers? Requests, tasks, limits and the media store.',
  variables: [{ name: 'operation', label: 'Operation', metric: `${requests}_count`, values: 'operation' }],
  rows: {
    'In this time range': [
      figure({
        title: 'Requests without an error of ours',
        help: 'The share of requests that did not end with a 5xx of the service. Errors of providers are not included.',
        unit: 'share',
        queries: {
          share: `1 - ${orZero(growth(`${requests}_count`, [], ours))} / ${growth(`${requests}_count`)}`,
        },
        limits: { bad: 0.99, warn: 0.999 },
      }),
      figure({
        title: 'Slowest 1 % of creates',
        help: '99 % of requests that create a video were faster. If it rises, look at the event loop and the database in “one role”.',
        unit: 'seconds',
        queries: {
          p99: `histogram_quantile(0.99, ${growth(`${requests}_bucket`, ['le'], 'operation="createVideo"')})`,
        },
        limits: { warn: 0.2, bad: 1 },
        next: 'role',
      }),
      figure({
        title: 'Tasks that completed',
        help: 'The share of completed tasks among those that completed or failed. Cancelled tasks are not included.',
        unit: 'share',
        queries: {
          share: `1 - ${orZero(growth('kinora_tasks_ended_total', [], failed))} / ${growth('kinora_tasks_ended_total', [], 'outcome!="cancelled"')}`,
        },
        limits: { bad: 0.9, warn: 0.98 },
        next: 'tasks',
      }),
      figure({
        title: 'Oldest task in the queue',
        help: 'How long the oldest task waits to be started. If it rises, look at the slots of providers.',
        unit: 'seconds',
        queries: { wait: 'max(kinora_tasks_oldest_wait_seconds)' },
        limits: { warn: 60, bad: 600 },
        next: 'tasks',
      }),
      figure({
        title: 'Rejected to protect the service',
        help: 'Requests that were rejected because a caller, or all together, exceeded a limit.',
        unit: 'count',
        queries: { rejected: growth('kinora_admission_rejections_total') },
        limits: { warn: 1 },
      }),
      figure({
        title: 'Processes',
        help: 'How many processes of each role Prometheus reaches.',
        unit: 'count',
        queries: { '{{service_name}}': 'count by (service_name) (target_info{service_namespace="kinora"})' },
        hasNames: true,
        next: 'role',
      }),
    ],
    Requests: [
      chart({
        title: 'Requests by operation',
        help: 'Requests per second. `none` are paths that do not exist.',
        unit: 'requests per second',
        queries: {
          '{{operation}}': rate(`${requests}_count`, ['operation'], 'operation=~"$operation"'),
        },
        isStacked: true,
      }),
      chart({
        title: 'Slowest 5 % by operation',
        help: '95 % of requests were faster. Streams and long polls count until their last byte.',
        unit: 'seconds',
        queries: {
          '{{operation}}': quantile(0.95, requests, ['operation'], 'operation=~"$operation"'),
        },
      }),
      chart({
        title: 'Errors by code',
        help: 'Errors per second, by the codes of the API. Those with status 4xx are of callers.',
        unit: 'per second',
        queries: {
          '{{http_response_status_code}} {{error_type}}': rate(
            `${requests}_count`,
            ['http_response_status_code', 'error_type'],
            'operation=~"$operation", error_type!=""',
          ),
        },
        isStacked: true,
      }),
      chart({
        title: 'Share of errors',
        help: 'Errors that this service causes, and errors of providers that it passes on. Ours should stay below 0.1 %.',
        unit: 'share',
        queries: {
          ours: `${orZero(rate(`${requests}_count`, [], ours))} / ${rate(`${requests}_count`)}`,
          providers: `${orZero(rate(`${requests}_count`, [], providers))} / ${rate(`${requests}_count`)}`,
        },
        limits: { warn: 0.001, bad: 0.01 },
        next: 'providers',
      }),
      chart({
        title: 'Rejections by reason',
        help: 'Requests and connections rejected per second. `overload`, `queue_length` and `queue_wait` mean that the service is full; the others that one caller exceeds its share.',
        unit: 'per second',
        queries: { '{{reason}}': rate('kinora_admission_rejections_total', ['reason']) },
        isStacked: true,
      }),
      chart({
        title: 'Requests not logged',
        help: 'Rows of the request log that were dropped per second, because the database was unreachable for too long. Should be 0.',
        unit: 'per second',
        queries: { dropped: rate('kinora_request_log_dropped_total') },
      }),
    ],
    'What customers wait for': [
      chart({
        title: 'Time until a task is done',
        help: 'From the create to the end, for half of the tasks and for all but the slowest 5 %.',
        unit: 'seconds',
        queries: {
          'half of {{kind}}': quantile(0.5, 'kinora_task_stage_duration_seconds', ['kind'], 'stage="total"'),
          '95 % of {{kind}}': quantile(0.95, 'kinora_task_stage_duration_seconds', ['kind'], 'stage="total"'),
        },
        next: 'tasks',
      }),
      chart({
        title: 'First byte of providers',
        help: 'How long speech and streams wait for the first byte of a provider, for all but the slowest 5 %.',
        unit: 'seconds',
        queries: {
          '{{gen_ai_operation_name}}': quantile(0.95, 'gen_ai_client_operation_time_to_first_chunk_seconds', [
            'gen_ai_operation_name',
          ]),
        },
        next: 'providers',
      }),
      chart({
        title: 'How tasks end',
        help: 'Tasks that ended per second.',
        unit: 'per second',
        queries: { '{{outcome}}': rate('kinora_tasks_ended_total', ['outcome']) },
        isStacked: true,
        next: 'tasks',
      }),
    ],
    'Media store': [
      figure({
        title: 'Problem',
        help: 'The media store reports a problem, such as a bucket that cannot be reached. The log of the API names it.',
        unit: 'count',
        queries: { problem: 'max(kinora_storage_problem)' },
        words: { 0: 'none', 1: 'see the log' },
        limits: { bad: 1 },
      }),
      figure({
        title: 'Least free space',
        help: 'Free space in the file system of uploads, downloads and, without a bucket, media.',
        unit: 'bytes',
        queries: { free: 'min(kinora_storage_free_bytes)' },
        limits: { bad: 5e9, warn: 20e9 },
      }),
      figure({
        title: 'Removals waiting',
        help: 'Deleted files and jobs at providers that are not removed yet. They should be gone within minutes.',
        unit: 'count',
        queries: { '{{of}}s': 'max by (of) (kinora_storage_removals_waiting)' },
        hasNames: true,
      }),
      figure({
        title: 'Files without a record',
        help: 'Files that the daily sweep removed in this time range, because nothing refers to them. Usually 0.',
        unit: 'count',
        queries: { removed: growth('kinora_storage_orphans_removed_total') },
      }),
      chart({
        title: 'Bytes',
        help: 'Bytes written to and read from the media store.',
        unit: 'bytes per second',
        queries: { '{{direction}}': rate('kinora_storage_io_bytes_total', ['direction']) },
      }),
      chart({
        title: 'Slowest 5 % of operations',
        help: '95 % of the operations of the media store were faster.',
        unit: 'seconds',
        queries: {
          '{{operation}}': quantile(0.95, 'kinora_storage_operation_duration_seconds', ['operation']),
        },
      }),
      chart({
        title: 'Errors of the media store',
        help: '`unavailable` means that the disk or the bucket does not work. `not_found` is usual.',
        unit: 'per second',
        queries: {
          '{{operation}} {{error_type}}': rate(
            'kinora_storage_operation_duration_seconds_count',
            ['operation', 'error_type'],
            'error_type!=""',
          ),
        },
        isStacked: true,
      }),
    ],
    'Webhooks and events': [
      chart({
        title: 'Attempts',
        help: 'Attempts to deliver a webhook to a customer. `failed` is repeated, `rejected` and `gone` are not.',
        unit: 'per second',
        queries: { '{{result}}': rate('kinora_webhooks_attempts_total', ['result']) },
        isStacked: true,
      }),
      chart({
        title: 'Slowest 5 % of attempts',
        help: '95 % of the attempts with this result were faster. Receivers that hang are given up after WEBHOOK_TIMEOUT_SECONDS.',
        unit: 'seconds',
        queries: { '{{result}}': quantile(0.95, 'kinora_webhooks_attempt_duration_seconds', ['result']) },
      }),
      chart({
        title: 'Attempts under way',
        help: 'At most WEBHOOK_ATTEMPTS in each worker. If it stays there, many receivers hang.',
        unit: 'count',
        queries: { '{{instance}}': 'kinora_webhooks_attempts_open' },
      }),
      figure({
        title: 'Delay of the event feed',
        help: 'Age of the oldest event that waits for a transaction that stays open. docs/events.md says how to find that one.',
        unit: 'seconds',
        queries: { delay: 'max(kinora_events_delay_seconds)' },
        limits: { warn: 10, bad: 60 },
      }),
    ],
    'Certificate and secrets': [
      figure({
        title: 'Certificate expires in',
        help: 'Time until the certificate at PUBLIC_URL expires. Without https there is no data.',
        unit: 'seconds',
        queries: { certificate: 'min(kinora_certificate_expires_in_seconds)' },
        limits: { bad: 3 * 86_400, warn: 14 * 86_400 },
      }),
      figure({
        title: 'Age of the oldest secrets',
        help: 'Keys of operators, and keys of providers that the admin API has stored. Rotate what is older than a year.',
        unit: 'seconds',
        queries: { '{{secret}}': 'max by (secret) (kinora_secret_age_seconds)' },
        limits: { warn: 365 * 86_400 },
        hasNames: true,
      }),
    ],
  },
}
