/** What the service says about a model: where it is served, its sizes, images and voices. */
import { encodePathSegment, getFromApi } from '@ai-sdk/provider-utils'
import type { Model } from '@kinora/contract/operations/models'

import { responseWith, type CallContext, type Connection } from './connection.ts'
import { withoutIdempotencyKey } from './idempotency-key.ts'

export type ModelFacts = Pick<Model, 'id' | 'endpoints'> & Partial<Model>

export type ReadModelFacts = (modelId: string, call: CallContext) => Promise<ModelFacts>

/** An operator may change a model while this process runs. */
const keptMs = 60_000

export const createReadModelFacts = (connection: Connection): ReadModelFacts => {
  const known = new Map<string, { facts: ModelFacts; untilMs: number }>()
  return async (modelId, call) => {
    const kept = known.get(modelId)
    if (kept !== undefined && kept.untilMs > performance.now()) return kept.facts
    const { value: facts } = await getFromApi({
      ...connection.requestOf({ ...call, headers: withoutIdempotencyKey(call.headers) }),
      url: connection.urlOf(`/models/${encodePathSegment(modelId)}`),
      validateUrl: false,
      successfulResponseHandler: responseWith<ModelFacts>('id', 'endpoints'),
    })
    known.set(modelId, { facts, untilMs: performance.now() + keptMs })
    return facts
  }
}
