import type { operations } from '@kinora/contract/operations'

import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import { endPending } from '../deliveries/delivery-store.ts'
import { deleteEndpoint } from './endpoint-store.ts'
import { lockOwnEndpoint, type EndpointDependencies } from './manage-endpoints.ts'
import { presentEndpoint } from './present-endpoint.ts'

/** The delivery log of the endpoint remains. */
export const deleteWebhookEndpoint =
  ({
    postgres,
    sealingSecrets,
  }: EndpointDependencies): SelfServiceHandler<typeof operations.deleteWebhookEndpoint> =>
  async (call) => {
    const id = await postgres.transaction(async (database) => {
      const present = await lockOwnEndpoint(database, call)
      await deleteEndpoint(database, present.id)
      await call.audit(database, {
        action: 'deleteWebhookEndpoint',
        target: present.id,
        before: presentEndpoint(present, sealingSecrets),
      })
      return present.id
    })
    await endPending(postgres, id)
    return { body: { id, object: 'webhook_endpoint.deleted', deleted: true } }
  }
