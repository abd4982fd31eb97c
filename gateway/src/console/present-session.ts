import type {
  ConsoleLinkHolder,
  ConsoleSession,
  ConsoleSessionItem,
} from '@kinora/contract/operations/console-sessions'

import { secondsOf } from '../admin/unix-time.ts'
import type { SessionHolder } from '../auth/authenticate.ts'
import type { LinkRow, SessionRow } from './console-session-store.ts'

const accountOf = ({ accountId, accountName }: Pick<SessionRow, 'accountId' | 'accountName'>) =>
  accountId === null ? null : { id: accountId, name: accountName ?? '' }

const keyOf = ({ keyId, keyHint, keyName }: Pick<SessionRow, 'keyId' | 'keyHint' | 'keyName'>) =>
  keyId === null ? null : { id: keyId, hint: keyHint ?? '', name: keyName ?? '' }

const operatorOf = ({ operatorKeyId, operatorName }: Pick<SessionRow, 'operatorKeyId' | 'operatorName'>) =>
  operatorKeyId === null ? null : { id: operatorKeyId, name: operatorName ?? '' }

/** The own session. A key that is not accepted now is left out. */
export const presentSession = (
  row: SessionRow,
  { caller, operator }: Pick<SessionHolder, 'caller' | 'operator'>,
  currency: string,
): ConsoleSession => {
  const account = caller === undefined ? null : accountOf(row)
  const key = caller === undefined ? null : keyOf(row)
  const acting = operator === undefined ? null : operatorOf(row)
  return {
    id: row.id,
    object: 'console.session',
    account,
    key: key === null ? null : { ...key, kind: row.keyKind ?? 'payg', scopes: row.keyScopes ?? [] },
    operator: acting === null ? null : { ...acting, role: row.operatorRole ?? 'read' },
    currency,
    expires_at: secondsOf(row.endsAt),
  }
}

/** A session in a list. Customers do not see which operator uses their key. */
export const presentListedSession = (
  row: SessionRow,
  { currentId, isForOperator }: { currentId: string; isForOperator: boolean },
): ConsoleSessionItem => ({
  id: row.id,
  object: 'console.session',
  current: row.id === currentId,
  account: accountOf(row),
  key: keyOf(row),
  operator: isForOperator ? operatorOf(row) : null,
  address: row.address,
  user_agent: row.userAgent,
  created_at: secondsOf(row.createdAt),
  last_used_at: secondsOf(row.lastUsedAt),
  expires_at: secondsOf(row.endsAt),
})

export const presentLinkHolder = (row: LinkRow): ConsoleLinkHolder => {
  const operator = operatorOf(row)
  return {
    object: 'console.link_holder',
    account: accountOf(row),
    key: keyOf(row),
    operator: operator === null ? null : { ...operator, role: row.operatorRole ?? 'read' },
    expires_at: secondsOf(row.expiresAt),
  }
}
