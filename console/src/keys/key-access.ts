/** Keys as the account of the session manages them, or as operators manage those of all accounts. */
import { isKinoraError, type CreateAccountKeyParams } from '@kinora/client'
import type { Key } from '@kinora/client/admin'
import { queryOptions } from '@tanstack/react-query'

import { kinora, kinoraAdmin } from '../service.ts'
import { hasRole, hasScope, type Role, type Session } from '../session/session.ts'

export type { Key }
export type KeySettings = CreateAccountKeyParams

/** Everything that the console knows of keys is below this. */
export const keysKey = ['keys'] as const

export interface KeyOwner {
  kind: Key['kind']
  /** Undefined for an operator's key. */
  accountId: string | undefined
  role: Role
}

interface KeySecret {
  key: Key
  secret: string
}

/** Who manages keys here. */
export interface Manager {
  isOperator: boolean
  mayChange: boolean
  session: Session
}

export const findManager = (session: Session, wantsAll: boolean): Manager => {
  const isCustomer = hasScope(session, 'account')
  const isOperator = hasRole(session, 'read', 'support', 'finance') && (wantsAll || !isCustomer)
  return { isOperator, mayChange: isOperator ? hasRole(session, 'support') : isCustomer, session }
}

type OwnKey = Awaited<ReturnType<typeof kinora.keys.get>>

const asKey = (key: OwnKey, { account }: Session): Key => ({
  ...key,
  ...{ account_id: account?.id ?? null, account_name: account?.name ?? null, role: null },
})

export interface KeyPage {
  keys: Key[]
  next: string | null
}

const pageSize = 200

export const listKeys = async (
  { isOperator, session }: Manager,
  accountId: string | undefined,
  cursor: string | undefined,
): Promise<KeyPage> => {
  const query = { limit: pageSize, ...(cursor !== undefined && { cursor }) }
  if (isOperator) {
    const page = await kinoraAdmin.keys.list({
      ...query,
      ...(accountId !== undefined && { account_id: accountId }),
    })
    return { keys: page.data, next: page.next }
  }
  const page = await kinora.keys.list(query)
  return { keys: page.data.map((key) => asKey(key, session)), next: page.next }
}

/** The key, and who manages it: a session may have an own account and be an operator for others. */
export const keyQuery = (session: Session, id: string, wantsAll: boolean) =>
  queryOptions({
    queryKey: [...keysKey, 'one', id, wantsAll],
    queryFn: async (): Promise<{ key: Key; manager: Manager }> => {
      const manager = findManager(session, wantsAll)
      if (manager.isOperator) return { key: await kinoraAdmin.keys.get(id), manager }
      try {
        return { key: asKey(await kinora.keys.get(id), session), manager }
      } catch (error) {
        const operator = findManager(session, true)
        if (!operator.isOperator || !isKinoraError(error) || error.status !== 404) throw error
        return { key: await kinoraAdmin.keys.get(id), manager: operator }
      }
    },
  })

/** What a new key has if nothing else is set: at most the rights of the key that creates it. */
export const templateQuery = ({ isOperator, session }: Manager) =>
  queryOptions({
    queryKey: [...keysKey, 'template', isOperator],
    queryFn: async (): Promise<Key | null> =>
      isOperator || session.key === null ? null : asKey(await kinora.keys.get(session.key.id), session),
  })

export const createKey = async (
  { isOperator, session }: Manager,
  { kind, accountId, role }: KeyOwner,
  settings: KeySettings,
): Promise<KeySecret> => {
  if (!isOperator) {
    const created = await kinora.keys.create(settings)
    return { key: asKey(created.key, session), secret: created.secret }
  }
  if (kind === 'admin' || accountId === undefined) {
    const { name = '', expires_at = null } = settings
    return kinoraAdmin.operatorKeys.create({ name, role, expires_at })
  }
  return kinoraAdmin.keys.create(accountId, { ...settings, kind })
}

export const updateKey = async (
  { isOperator, session }: Manager,
  id: string,
  changes: KeySettings & { role?: Role },
): Promise<Key> =>
  isOperator ? kinoraAdmin.keys.update(id, changes) : asKey(await kinora.keys.update(id, changes), session)

export const rotateKey = async (
  { isOperator, session }: Manager,
  id: string,
  overlapSeconds: number,
): Promise<KeySecret> => {
  const body = { overlap_seconds: overlapSeconds }
  if (isOperator) return kinoraAdmin.keys.rotate(id, body)
  const rotated = await kinora.keys.rotate(id, body)
  return { key: asKey(rotated.key, session), secret: rotated.secret }
}

export const deleteKey = async ({ isOperator }: Manager, id: string): Promise<void> => {
  if (isOperator) await kinoraAdmin.keys.delete(id)
  else await kinora.keys.delete(id)
}

export interface UsageDay {
  /** Unix time in seconds. */
  at: number
  requests: number
  failed: number
  micros: number
}

const usageDays = 30

/** The use of a key on each of the last days, also on those without any. */
export const usageQuery = ({ isOperator }: Manager, { id, currency }: Key) =>
  queryOptions({
    queryKey: [...keysKey, 'usage', id],
    queryFn: async (): Promise<{ days: UsageDay[]; currency: string }> => {
      const today = Math.floor(Date.now() / 86_400_000) * 86_400
      const from = today - (usageDays - 1) * 86_400
      const { data } = isOperator
        ? await kinoraAdmin.usage.get({ group_by: 'day', key_id: id, from })
        : await kinora.usage.get({ group_by: 'day,key', scope: 'account', from })
      const days = Array.from({ length: usageDays }, (_, index) => {
        const at = from + index * 86_400
        const row = data.find(({ period, key_id: key }) => period === at && (isOperator || key === id))
        return {
          ...{ at, requests: row?.requests ?? 0, failed: row?.failed ?? 0 },
          micros: (row?.captured_micros ?? 0) - (row?.refunded_micros ?? 0),
        }
      })
      return { days, currency: data[0]?.currency ?? currency }
    },
  })
