import type { AccountKey, Kinora } from '@kinora/client'
/** Asks the service for what a name or a beginning of an id stands for. */
import type { Account, Key, KinoraAdmin, Plan } from '@kinora/client/admin'

import { chooseByName, isPartOfId, isWholeId, refuseSecret } from './choose-by-name.ts'

const limit = 200

const collect = async <Item>(list: AsyncIterable<Item>): Promise<Item[]> => {
  const items: Item[] = []
  for await (const item of list) items.push(item)
  return items
}

export const findAccount = async (admin: KinoraAdmin, given: string): Promise<Account> => {
  refuseSecret(given)
  if (isWholeId(given)) return admin.accounts.get(given)
  // A part of an id is only found among all of them.
  const filter = isPartOfId(given) ? {} : { name: given }
  const found = await collect(admin.accounts.list({ ...filter, limit }))
  if (found.length > 0) return chooseByName('account', given, found)
  return chooseByName('account', given, await collect(admin.accounts.list({ limit })))
}

/** The id alone, without a request if the whole id is given. */
export const findAccountId = async (
  admin: KinoraAdmin,
  given: string | undefined,
): Promise<string | undefined> => {
  if (given === undefined || isWholeId(given)) return given
  return (await findAccount(admin, given)).id
}

export const findKey = async (
  admin: KinoraAdmin,
  given: string,
  account: string | undefined,
): Promise<Key> => {
  refuseSecret(given)
  if (isWholeId(given)) return admin.keys.get(given)
  const accountId = await findAccountId(admin, account)
  const filter = accountId === undefined ? {} : { account_id: accountId }
  return chooseByName('key', given, await collect(admin.keys.list({ ...filter, limit })))
}

export const findOwnKey = async (kinora: Kinora, given: string): Promise<AccountKey> => {
  refuseSecret(given)
  if (isWholeId(given)) return kinora.keys.get(given)
  return chooseByName('key', given, await collect(kinora.keys.list({ limit })))
}

export const findPlan = async (admin: KinoraAdmin, given: string): Promise<Plan> =>
  isWholeId(given)
    ? admin.plans.get(given)
    : chooseByName('plan', given, await collect(admin.plans.list({ limit })))
