import type { Key } from '@kinora/contract/operations/admin/keys'
import type { AccountKey } from '@kinora/contract/operations/keys'

/** A key as its own account sees it. */
export const presentAccountKey = ({
  account_id: _accountId,
  account_name: _accountName,
  role: _role,
  ...key
}: Key): AccountKey => ({ ...key, scopes: key.scopes ?? [] })
