import type { operations } from '@kinora/contract/operations'
import {
  OpenAiRotateSecretBody,
  RotateSecretBody,
  secretOverlapSeconds,
} from '@kinora/contract/operations/webhook-fields'

import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import type { Call } from '../../http/call.ts'
import { createSealedSecret } from '../signing/webhook-secret.ts'
import { changeEndpointSecret } from './endpoint-store.ts'
import { findOwnEndpoint, lockOwnEndpoint, type EndpointDependencies } from './manage-endpoints.ts'
import { presentEndpoint, presentWithSecret } from './present-endpoint.ts'

/** What the `openai` SDKs ask for. */
const daySeconds = 86_400

const readOverlapSeconds = ({ isUnderOpenAi, read }: Pick<Call, 'isUnderOpenAi' | 'read'>): number => {
  if (!isUnderOpenAi) return read(RotateSecretBody).overlap_seconds ?? secretOverlapSeconds
  return read(OpenAiRotateSecretBody).keep_old_secret_active_for_24_hours === true ? daySeconds : 0
}

export const rotateWebhookEndpointSecret =
  (dependencies: EndpointDependencies): SelfServiceHandler<typeof operations.rotateWebhookEndpointSecret> =>
  async (call) => {
    const { postgres, sealingSecrets } = dependencies
    const overlapSeconds = readOverlapSeconds(call)
    const { secret, sealed } = createSealedSecret(sealingSecrets, call.caller.accountId)
    const endpoint = await postgres.transaction(async (database) => {
      const present = await lockOwnEndpoint(database, call)
      await changeEndpointSecret(database, present.id, sealed, overlapSeconds)
      const changed = await findOwnEndpoint(database, call)
      await call.audit(database, {
        action: 'rotateWebhookEndpointSecret',
        target: present.id,
        before: presentEndpoint(present, sealingSecrets),
        after: presentEndpoint(changed, sealingSecrets),
      })
      return changed
    })
    return { body: presentWithSecret(call, endpoint, sealingSecrets, secret.reveal()) }
  }
