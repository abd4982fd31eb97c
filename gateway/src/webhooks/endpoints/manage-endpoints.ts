/** What the operations on webhook endpoints share: the lock and the checks. */
import { ApiError } from '@kinora/contract/errors'

import { lockCallingKey } from '../../account/keys/manage-keys.ts'
import { givenId, notFound } from '../../admin/given-id.ts'
import type { Call } from '../../http/call.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { SafeFetchError } from '../../safe-fetch/safe-fetch-error.ts'
import type { SafePost } from '../../safe-fetch/safe-post.ts'
import { findEndpoint, type EndpointRow } from './endpoint-store.ts'

export interface EndpointDependencies {
  postgres: Postgres
  /** The newest seals. */
  sealingSecrets: Secret[]
  /** Throws if deliveries to the URL are not allowed. */
  assertPermitted: SafePost['assertPermitted']
}

const resource = 'webhook endpoint'

/** The endpoint in the path, if it belongs to the caller's account. */
export const findOwnEndpoint = async (
  database: Database,
  call: Pick<Call, 'path' | 'caller'>,
): Promise<EndpointRow> => {
  const endpoint = await findEndpoint(database, call.caller.accountId, givenId(call, resource))
  if (endpoint === undefined) throw notFound(resource)
  return endpoint
}

/** The same for a change. Changes of an account are serialized. */
export const lockOwnEndpoint = async (
  database: Database,
  call: Pick<Call, 'path' | 'caller'>,
): Promise<EndpointRow> => {
  await lockCallingKey(database, call.caller)
  return findOwnEndpoint(database, call)
}

export const assertUrl = (url: string, { assertPermitted }: EndpointDependencies): void => {
  try {
    assertPermitted(url)
  } catch (error) {
    if (!(error instanceof SafeFetchError)) throw error
    throw new ApiError('invalid_parameter', {
      param: 'url',
      message: `'url' cannot receive webhooks: ${error.message}. Use an https URL of a public host, such as https://example.com/webhooks.`,
    })
  }
}

/** Nothing is sent to a disabled endpoint. */
export const assertEnabled = ({ id, isDisabled }: Pick<EndpointRow, 'id' | 'isDisabled'>): void => {
  if (!isDisabled) return
  throw new ApiError('conflict', {
    message: `The endpoint is disabled. Enable it first: PATCH /v1/webhook_endpoints/${id} with {"disabled": false}.`,
  })
}
