import type { operations } from '@kinora/contract/operations'

import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import { endPending } from '../deliveries/delivery-store.ts'
import { announceDeliveries } from '../log/delivery-log-store.ts'
import { changeEndpoint } from './endpoint-store.ts'
import { assertUrl, findOwnEndpoint, lockOwnEndpoint, type EndpointDependencies } from './manage-endpoints.ts'
import { presentEndpoint, presentFor } from './present-endpoint.ts'
import { readEndpointChange } from './read-endpoint.ts'

/** Handles PATCH, and POST as the openai SDKs send it. */
export const updateWebhookEndpoint =
  (
    dependencies: EndpointDependencies,
  ): SelfServiceHandler<typeof operations.updateWebhookEndpoint | typeof operations.postWebhookEndpoint> =>
  async (call) => {
    const { postgres, sealingSecrets } = dependencies
    const endpoint = await postgres.transaction(async (database) => {
      const present = await lockOwnEndpoint(database, call)
      const { settings, isDisabled } = readEndpointChange(call, present)
      const isMoved = settings.url !== present.url
      if (isMoved) assertUrl(settings.url, dependencies)
      const countsAsWorking = isDisabled === false || isMoved
      await changeEndpoint(database, present.id, settings, { isDisabled, countsAsWorking })
      if (countsAsWorking) await announceDeliveries(database, present.id)
      const changed = await findOwnEndpoint(database, call)
      await call.audit(database, {
        action: 'updateWebhookEndpoint',
        target: present.id,
        before: presentEndpoint(present, sealingSecrets),
        after: presentEndpoint(changed, sealingSecrets),
      })
      return changed
    })
    if (endpoint.isDisabled) await endPending(postgres, endpoint.id)
    return { body: presentFor(call, endpoint, sealingSecrets) }
  }
