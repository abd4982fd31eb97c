import type { operations } from '@kinora/contract/operations'
import { eventTypeNames } from '@kinora/contract/webhook-events'

import type { Handler } from '../../http/call.ts'

export const listWebhookEventTypes: Handler<typeof operations.listWebhookEventTypes> = async () => ({
  body: { object: 'list', data: [...eventTypeNames] },
})
