import path from 'node:path'

import { isTest } from './boundaries.mjs'

/** The files of gateway/src that need the time of day, by reason. */
export const wallClockFiles = {
  'times that are stored or shown, and the days and ids made of them': [
    ...['admin/audit-log/audit.ts', 'admin/providers/present-health.ts'],
    'admin/tasks/list-request-errors.ts',
    ...[
      'billing/metering/meter.ts',
      'chat/chat-audio.ts',
      'http/completed-request.ts',
      'platform/ids/uuid.ts',
    ],
    ...['providers/ai-sdk/ai-sdk-video.ts', 'providers/openai/openai-dialogue.ts', 'seed.ts'],
    ...['rate-limits/rate-limit.ts', 'transcription-tasks/lifecycle/admit-recording.ts'],
    ...['usage/read-usage.ts', 'videos/lifecycle/submit-video.ts', 'videos/queue/candidate.ts'],
    'webhooks/inbound/apply-webhook.ts',
  ],
  'dates at which keys, prices, models, subscriptions, links and files change or expire': [
    ...['admin/keys/create-operator-key.ts', 'admin/prices/set-price.ts'],
    ...['auth/authenticate.ts', 'auth/identify.ts', 'billing/prices/may-be-free.ts', 'models/catalog.ts'],
    ...['billing/prices/price-list.ts', 'billing/spending/spend.ts'],
    ...['billing/subscriptions/subscriptions.ts', 'retention/orphans.ts', 'storage/spool-sweep.ts'],
    ...['storage/send-file.ts', 'storage/signed-link.ts', 'transcription-tasks/api/get-transcript.ts'],
    ...['transcription-tasks/lifecycle/settle-transcription.ts'],
    ...['videos/api/present-details.ts', 'videos/lifecycle/store-result.ts'],
  ],
  'dates that a vendor or a receiver of webhooks gives or checks': [
    ...[
      'webhooks/deliveries/sender.ts',
      'providers/fal/fal-webhook.ts',
      'providers/gemini/service-account.ts',
      'providers/kit/http/classify.ts',
      'storage/s3/check-bucket.ts',
      'storage/s3/check-presigned.ts',
      'readings/observe-certificate.ts',
    ],
  ],
  'times in traces, which a collector compares with those of other processes': [
    'videos/lifecycle/trace-video.ts',
  ],
  'an estimate of the progress, only a hint': ['videos/api/read-status.ts', 'videos/queue/estimate-task.ts'],
}

const listed = new Set(Object.values(wallClockFiles).flat())

/** The wall clock may be set forward or back at any time, so no timeout, deadline or cache may depend on it. */
export const wallClock = {
  meta: { type: 'problem' },
  create(context) {
    const file = path.relative(context.cwd, context.filename).replaceAll(path.sep, '/')
    const root = 'gateway/src/'
    if (!file.startsWith(root) || isTest(file) || listed.has(file.slice(root.length))) return {}
    const forbid = (node, what) =>
      context.report({
        node,
        message: `${what} reads the wall clock, which may be set. Measure time with performance.now(), compare stored times in SQL, or list the file in tools/lint/wall-clock.mjs.`,
      })
    return {
      MemberExpression(node) {
        if (node.object.name === 'Date' && node.property.name === 'now') forbid(node, 'Date.now')
      },
      NewExpression(node) {
        if (node.callee.name === 'Date' && node.arguments.length === 0) forbid(node, 'new Date()')
      },
    }
  },
}
