/** A customer's own data on a task or a request. */
import { Type, type Static } from 'typebox'

import { ReadByEndpoint } from './fields.ts'

export const metadataEntriesMax = 16
export const metadataKeyCharactersMax = 64
export const metadataValueCharactersMax = 512

export const Metadata = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
  {
    description: 'The metadata that was sent with the request.',
  },
)
export type Metadata = Static<typeof Metadata>

const limits = `up to ${metadataEntriesMax} keys of at most ${metadataKeyCharactersMax} characters, with texts of at most ${metadataValueCharactersMax} characters`

/** The metadata of a request. */
export const RequestMetadata = ReadByEndpoint({
  anyOf: [
    {
      type: 'object',
      maxProperties: metadataEntriesMax,
      additionalProperties: { type: ['string', 'number', 'boolean'] },
    },
    { type: 'string' },
  ],
  description: `Your own data about the request: ${limits}, numbers or booleans. An object, or its JSON text; in a form also \`metadata[key]\`. It is not sent to a provider. Usage can be grouped by it.`,
})

/** The filter of a list by metadata: `metadata[team]=red`. */
export const metadataQuery = {
  metadata: Type.String({
    'x-deep-object': true,
    description:
      'Only those with all of these values in their metadata, such as `metadata[team]=red`. Numbers and booleans are compared as text.',
  }),
}
