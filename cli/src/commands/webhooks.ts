/** Commands for webhooks. They need a key with the scope `account`. */
import { defineCommand } from '../frame/command.ts'
import { limitOption, serviceOptions } from './service-options.ts'

export const webhookCommands = [
  defineCommand({
    words: 'webhooks listen',
    group: 'Follow',
    summary: 'Receive the events of the account on this machine, without a public address.',
    details:
      'Follows the event feed and posts each event to your server, signed with the webhook secret of the account, as a webhook would. Prints the response of your server. Nothing is retried.',
    options: {
      forwardTo: {
        type: 'text',
        value: 'url',
        summary: 'URL of your server, such as localhost:3000/webhooks',
      },
      events: { type: 'text', value: 'types', summary: 'only these types of events, separated by commas' },
      ...serviceOptions,
    },
    example: 'kinora webhooks listen --forward-to localhost:3000/webhooks',
    prints:
      'one line per event: `{"event", "response": {"status", "ms"}}`, or `"error"` instead of the status',
    run: async (input) => (await import('../webhooks/listen.ts')).listen(input),
  }),
  defineCommand({
    words: 'webhooks list',
    group: 'Follow',
    summary: 'List the webhook endpoints of the account.',
    options: { ...limitOption, ...serviceOptions },
    example: 'kinora webhooks list',
    run: async (input) => (await import('../webhooks/manage.ts')).listEndpoints(input),
  }),
  defineCommand({
    words: 'webhooks deliveries',
    group: 'Follow',
    summary: 'List what was sent to the endpoints and how they responded, newest first.',
    options: {
      endpoint: { type: 'text', value: 'id', summary: 'only deliveries to this endpoint' },
      state: { type: 'text', value: 'state', summary: 'only deliveries in this state, such as failed' },
      ...limitOption,
      ...serviceOptions,
    },
    example: 'kinora webhooks deliveries --state failed',
    run: async (input) => (await import('../webhooks/manage.ts')).listDeliveries(input),
  }),
  defineCommand({
    words: 'webhooks redeliver',
    group: 'Follow',
    summary: 'Send an event again.',
    arguments: { id: { summary: 'id of the delivery' } },
    options: serviceOptions,
    example: 'kinora webhooks redeliver whd_01',
    run: async (input) => (await import('../webhooks/manage.ts')).redeliver(input),
  }),
  defineCommand({
    words: 'webhooks trigger',
    group: 'Follow',
    summary: 'Send a test event to an endpoint and show its response.',
    arguments: { type: { summary: 'type of the event, such as video.completed' } },
    options: {
      endpoint: { type: 'text', value: 'id', summary: 'the endpoint (default: the only one)' },
      ...serviceOptions,
    },
    example: 'kinora webhooks trigger video.completed',
    prints: 'getWebhookDelivery',
    run: async (input) => (await import('../webhooks/manage.ts')).trigger(input),
  }),
]
