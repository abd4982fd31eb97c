import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { listEndpoints } from './endpoint-store.ts'
import type { EndpointDependencies } from './manage-endpoints.ts'
import { presentEndpoint, presentOpenAiEndpoint } from './present-endpoint.ts'

/** An account has few endpoints, so they are read at once. */
export const listWebhookEndpoints =
  ({ postgres, sealingSecrets }: EndpointDependencies): Handler<typeof operations.listWebhookEndpoints> =>
  async ({ query: { limit, after }, caller, isUnderOpenAi }) => {
    const all = await listEndpoints(postgres, caller.accountId)
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
    if (after !== undefined && start === 0) {
      throw new ApiError('invalid_parameter', {
        param: 'after',
        message: "'after' must be the id of an endpoint of the account: the `last_id` of the previous page.",
      })
    }
    const end = start + Number(limit)
    const page = all.slice(start, end)
    const list = {
      object: 'list' as const,
      first_id: page.at(0)?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
      has_more: all.length > end,
    }
    return {
      body: isUnderOpenAi
        ? { ...list, data: page.map((each) => presentOpenAiEndpoint(each, sealingSecrets)) }
        : { ...list, data: page.map((each) => presentEndpoint(each, sealingSecrets)) },
    }
  }
