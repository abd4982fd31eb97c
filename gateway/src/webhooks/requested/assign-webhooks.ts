/** Finds the endpoints that stand for the origins of the URLs that creates name. */
import { ApiError } from '@kinora/contract/errors'

import type { Secret } from '../../platform/secret.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'
import { createSealedSecret } from '../signing/webhook-secret.ts'
import { useTaskEndpoints } from './task-endpoint-store.ts'

/** Each one has a loop, and bounds the attempts to its origin. */
const originsMax = 100

const tooMany = (origin: string) =>
  new ApiError('conflict', {
    param: 'webhook_url',
    message: `The account has sent webhooks to ${originsMax} origins in the last 30 days, which is the maximum, and ${origin.slice(0, 200)} is another one. Use an origin that was used before, with any path and query, or a webhook endpoint of the account.`,
  })

export const createAssignWebhooks =
  (sealingSecrets: Secret[]): TaskWebhooks['assign'] =>
  async (database, wanted) => {
    if (wanted.length === 0) return []
    const nameOf = (accountId: string, origin: string) => `${accountId} ${origin}`
    const origins = new Map(
      wanted.map(({ accountId, webhook }) => {
        const { origin } = new URL(webhook.url)
        return [nameOf(accountId, origin), { accountId, origin }]
      }),
    )
    // Used for accounts without a secret.
    const secrets = new Map(
      wanted.map(({ accountId }) => [accountId, createSealedSecret(sealingSecrets, accountId).sealed]),
    )
    const endpoints = await useTaskEndpoints(
      database,
      [...origins.values()],
      [...secrets].map(([accountId, secret]) => ({ accountId, secret: secret.toString('hex') })),
      originsMax,
    )
    const idOf = new Map(endpoints.map(({ accountId, origin, id }) => [nameOf(accountId, origin), id]))
    return wanted.map(({ accountId, webhook: { url, events } }) => {
      const { origin } = new URL(url)
      const endpoint = idOf.get(nameOf(accountId, origin))
      return endpoint === undefined ? tooMany(origin) : { endpoint, url, events }
    })
  }
