/** Reads the webhook of a create. */
import { ApiError } from '@kinora/contract/errors'
import type { EventTypeName } from '@kinora/contract/webhook-events'
import {
  defaultWebhookEvents,
  webhookEventsOf,
  type WebhookObject,
} from '@kinora/contract/webhook-parameters'

import { SafeFetchError } from '../../safe-fetch/safe-fetch-error.ts'
import type { SafePost } from '../../safe-fetch/safe-post.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'

const invalid = (param: string, message: string, cause?: unknown) =>
  new ApiError('invalid_parameter', { param, message: `'${param}' ${message}`, cause })

const shownCharactersMax = 60

const readEvents = (object: WebhookObject, given: unknown): EventTypeName[] => {
  const known = webhookEventsOf(object)
  const demand = `must be a list of at least one of ${known.join(', ')}`
  // A form separates the types by commas, or repeats the field.
  const listed: unknown = typeof given === 'string' ? given.split(',') : given
  if (!Array.isArray(listed)) throw invalid('webhook_events', `${demand}.`)
  const types = listed.map((each: unknown) => {
    const name = typeof each === 'string' ? each.trim() : each
    const type = known.find((one) => one === name)
    if (type !== undefined) return type
    const shown = (typeof name === 'string' ? `'${name}'` : JSON.stringify(name)).slice(0, shownCharactersMax)
    throw invalid('webhook_events', `${demand} (got ${shown}).`)
  })
  if (types.length === 0) {
    throw invalid('webhook_events', `${demand} (got none). Without it, the ends of the task are sent.`)
  }
  return [...new Set(types)]
}

export const createReadWebhook =
  ({ assertPermitted }: Pick<SafePost, 'assertPermitted'>): TaskWebhooks['read'] =>
  (object, text, fields) => {
    const given = fields.value('webhook_events')
    if (text === undefined) {
      if (given === undefined) return undefined
      throw invalid(
        'webhook_events',
        "needs 'webhook_url', the URL to which the events are sent. Add it, or leave both out.",
      )
    }
    try {
      assertPermitted(text)
    } catch (error) {
      if (!(error instanceof SafeFetchError)) throw error
      throw invalid(
        'webhook_url',
        `cannot be used: ${error.message}. Send a public URL with https and port 443 or 8443, such as https://example.com/webhooks.`,
        error,
      )
    }
    const url = new URL(text)
    // A receiver never sees the fragment.
    url.hash = ''
    return {
      url: url.href,
      events: given === undefined ? defaultWebhookEvents(object) : readEvents(object, given),
    }
  }
