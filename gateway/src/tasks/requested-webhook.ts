/** The webhook that a create names, as every kind of task uses it. */
import type { ApiError } from '@kinora/contract/errors'
import type { EventTypeName } from '@kinora/contract/webhook-events'
import type { WebhookObject } from '@kinora/contract/webhook-parameters'

import type { Database } from '../platform/postgres.ts'
import type { TaskWebhook } from './task.ts'

/** A validated webhook whose endpoint is not known yet. */
export interface RequestedWebhook {
  url: string
  events: EventTypeName[]
}

interface WantedWebhook {
  accountId: string
  webhook: RequestedWebhook
}

/** How creates read their webhook, and how they store it. */
export interface TaskWebhooks {
  /** Reads `webhook_url` and `webhook_events`; undefined without them. Must be called before expensive steps. */
  read: (
    object: WebhookObject,
    url: string | undefined,
    fields: { value: (name: string) => unknown },
  ) => RequestedWebhook | undefined
  /**
   * The webhooks as their tasks have them, in the given order; an error for an account with too many. Must be called in the
   * transaction that creates the tasks. Without webhooks it executes no statement, and otherwise one.
   */
  assign: (database: Database, wanted: WantedWebhook[]) => Promise<(TaskWebhook | ApiError)[]>
}
