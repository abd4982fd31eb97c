import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import { lockCallingKey } from '../../account/keys/manage-keys.ts'
import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { createSealedSecret } from '../signing/webhook-secret.ts'
import { addEndpoint, findEndpoint, listEndpoints } from './endpoint-store.ts'
import { assertUrl, type EndpointDependencies } from './manage-endpoints.ts'
import { presentEndpoint, presentWithSecret } from './present-endpoint.ts'
import { readNewEndpoint } from './read-endpoint.ts'

/** Each event can become a delivery to every endpoint. */
const endpointsMax = 20

export const createWebhookEndpoint =
  (dependencies: EndpointDependencies): SelfServiceHandler<typeof operations.createWebhookEndpoint> =>
  async (call) => {
    const { postgres, sealingSecrets } = dependencies
    const { accountId } = call.caller
    const settings = readNewEndpoint(call)
    assertUrl(settings.url, dependencies)
    const { secret, sealed } = createSealedSecret(sealingSecrets, accountId)
    const id = uuidV7()
    const endpoint = await postgres.transaction(async (database) => {
      await lockCallingKey(database, call.caller)
      if ((await listEndpoints(database, accountId)).length >= endpointsMax) {
        throw new ApiError('conflict', {
          message: `The account has ${endpointsMax} webhook endpoints, which is the maximum. Delete one that is no longer used.`,
        })
      }
      await addEndpoint(database, { id, accountId, secret: sealed }, settings)
      const created = await findEndpoint(database, accountId, id)
      if (created === undefined) throw new Error('The endpoint was not added.')
      const after = presentEndpoint(created, sealingSecrets)
      await call.audit(database, { action: 'createWebhookEndpoint', target: id, after })
      return created
    })
    return { body: presentWithSecret(call, endpoint, sealingSecrets, secret.reveal()) }
  }
