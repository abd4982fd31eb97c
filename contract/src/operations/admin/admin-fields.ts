/** Fields and query parameters that several admin operations share. */
import { Type } from 'typebox'

import { Nullable } from '../../fields.ts'

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

export const Wallet = Type.String({
  enum: ['payg', 'subscription'],
  description: 'The wallet: pay-as-you-go or subscription.',
})
