/**
 * The erasures of accounts, outside of the database, so that they can be repeated after it was restored from an older
 * backup. Each is one small object that never changes. It has ids and times only.
 */
import { Readable } from 'node:stream'

import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'

import type { MediaStore } from '../storage/port/media-store.ts'

const erasureFolder = 'erasures'
/** An object that says that this is a list, even if it is empty. */
const headKey = `${erasureFolder}/list.json`
const entryPattern = /^erasures\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/
const entryBytesMax = 10_000

const entrySchema = Type.Object({
  account_id: Type.String(),
  requested_at: Type.String({ format: 'date-time' }),
  operator_key_id: Type.Union([Type.String(), Type.Null()]),
})

export interface ErasureEntry {
  accountId: string
  requestedAt: Date
  operatorKeyId: string | null
}

export interface ErasureList {
  /** Makes the list, so that an empty one can be told from a missing one. */
  open: () => Promise<void>
  /** Adds an entry. An account has one; the first stays. */
  add: (entry: ErasureEntry) => Promise<void>
  /** The accounts in the list; undefined if there is no list. */
  accountIds: () => Promise<string[] | undefined>
  read: (accountId: string) => Promise<ErasureEntry>
}

/** Undefined for a damaged entry. */
const parseEntry = (text: string): Static<typeof entrySchema> | undefined => {
  try {
    const entry: unknown = JSON.parse(text)
    return Value.Check(entrySchema, entry) ? entry : undefined
  } catch {
    return undefined
  }
}

const keyOf = (accountId: string) => `${erasureFolder}/${accountId}.json`

export const createErasureList = (store: MediaStore): ErasureList => {
  const write = async (key: string, content: object): Promise<void> => {
    if ((await store.find(key)) !== undefined) return
    const source = Readable.from([Buffer.from(`${JSON.stringify(content)}\n`)])
    await store.put(key, source, { sizeBytesMax: entryBytesMax })
  }
  return {
    open: () => write(headKey, { layout: 1 }),
    add: ({ accountId, requestedAt, operatorKeyId }) =>
      write(keyOf(accountId), {
        account_id: accountId,
        requested_at: requestedAt.toISOString(),
        operator_key_id: operatorKeyId,
      } satisfies Static<typeof entrySchema>),
    accountIds: async () => {
      const ids = new Set<string>()
      let isThere = false
      for await (const { key } of store.list(erasureFolder)) {
        isThere = true
        const [, id] = entryPattern.exec(key) ?? []
        if (id !== undefined) ids.add(id)
      }
      return isThere ? [...ids] : undefined
    },
    read: async (accountId) => {
      const key = keyOf(accountId)
      const text = Buffer.concat((await (await store.open(key)).toArray()) as Buffer[]).toString()
      const entry = parseEntry(text)
      if (entry !== undefined) {
        const { requested_at: requestedAt, operator_key_id: operatorKeyId } = entry
        return { accountId, operatorKeyId, requestedAt: new Date(requestedAt) }
      }
      // The name of an object is enough to repeat the erasure.
      const found = await store.find(key)
      return { accountId, operatorKeyId: null, requestedAt: found?.writtenAt ?? new Date(0) }
    },
  }
}
