import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { findOwnEndpoint, type EndpointDependencies } from './manage-endpoints.ts'
import { presentFor } from './present-endpoint.ts'

export const getWebhookEndpoint =
  ({ postgres, sealingSecrets }: EndpointDependencies): Handler<typeof operations.getWebhookEndpoint> =>
  async (call) => ({ body: presentFor(call, await findOwnEndpoint(postgres, call), sealingSecrets) })
