/** Fields and query parameters that several admin operations share. */
import { Type } from 'typebox'

import { Deleted, Nullable } from '../../fields.ts'
import { limitGroups, type LimitGroup } from '../../operation.ts'

export const ResourceId = (resource: string) => ({
  id: Type.String({ description: `Id of the ${resource}.` }),
})

/** The query of an admin list. */
export const pageQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 200,
    default: 50,
    description: 'Maximum number of items to return.',
  }),
  cursor: Type.String({
    maxLength: 400,
    description: 'Cursor of the page: the `next` of the previous page.',
  }),
}

export const ownerQuery = {
  account_id: Type.String({ description: 'Only this account.' }),
  key_id: Type.String({ description: 'Only this key.' }),
}

const accountName = Type.String({ description: 'Name of the account.' })
const keyName = Type.String({ description: 'Name of the key.' })

/** The account that an object belongs to. */
export const accountFields = {
  account_id: Type.String({ description: 'Id of the account.' }),
  account_name: accountName,
}

/** The account and the key that created an object. */
export const ownerFields = {
  ...accountFields,
  key_id: Type.String({ description: 'Id of the key that created it.' }),
  key_name: keyName,
}

/** The names beside ids that may be null. */
export const nullableNames = { account_name: Nullable(accountName), key_name: Nullable(keyName) }

export const Days = (description: string) => Type.Integer({ minimum: 1, maximum: 36_500, description })

export const TaskCount = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000, description })

export const PerMinute = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000_000, description })

const limitDescriptions: Record<LimitGroup, string> = {
  create: 'Requests that create videos, characters or transcription tasks.',
  read: 'Requests that read or change existing resources.',
  audio: 'Requests for speech, transcriptions and translations.',
  chat: 'Requests for chat completions.',
}

export const Limits = Type.Object(
  Object.fromEntries(limitGroups.map((group) => [group, Type.Optional(PerMinute(limitDescriptions[group]))])),
  { description: 'Rate limits by group of operations, in requests per minute.' },
)

export const Wallet = Type.String({
  enum: ['payg', 'subscription'],
  description: 'The wallet: pay-as-you-go or subscription.',
})

export const DeletedResource = (resource: string) =>
  Type.Object({ id: Type.String({ description: `Id of the deleted ${resource}.` }), deleted: Deleted })
