/** A waiting call of an operator ends when the key is no longer accepted for its operation. */
import { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { createKey, keySecret } from '../../test/kit/factories.ts'
import { Secret } from '../platform/secret.ts'
import { createAuthenticate, type Authenticate } from './authenticate.ts'

let database: TestDatabase
let authenticate: Authenticate
beforeAll(async () => {
  database = await createDatabase()
  authenticate = await createAuthenticate(database.postgres, [new Secret(keySecret)], 'USD')
})
afterAll(async () => {
  await authenticate.close()
  await database[Symbol.asyncDispose]()
})

/** Waits like a call of an operation. */
const watch = (text: string, operation: Operation) => {
  const waiting = new AbortController()
  const credentials = { authorization: `Bearer ${text}`, apiKey: undefined, address: '127.0.0.1' }
  const end = authenticate.watch(credentials, operation, undefined, waiting)
  return { signal: waiting.signal, end }
}
const change = (id: string, assignment: string) =>
  database.postgres.query(`update keys set ${assignment} where id = $1`, [id])

test('a key that loses its role ends only the calls that the new role may not make', async () => {
  const { id, text } = await createKey(database.postgres, '', { kind: 'admin', role: 'admin' })
  const [changing, reading] = [
    watch(text, adminOperations.updateSettings),
    watch(text, adminOperations.listAllEvents),
  ]
  await change(id, `role = 'finance'`)
  await expect.poll(() => changing.signal.aborted).toBe(true)
  expect(changing.signal.reason).toBeInstanceOf(ApiError)
  expect(changing.signal.reason).toMatchObject({ code: 'access_denied' })
  await change(id, 'disabled_at = now()')
  await expect.poll(() => reading.signal.reason).toMatchObject({ code: 'access_denied' })
  changing.end()
  reading.end()
})

test('the previous secret of a rotated key ends its calls after the overlap', async () => {
  const { id, text } = await createKey(database.postgres, '', { kind: 'admin' })
  const [old, ended] = [watch(text, adminOperations.getSettings), watch(text, adminOperations.getSettings)]
  ended.end()
  await change(
    id,
    `previous_hash = hash, previous_expires_at = now() + interval '1 second', hash = sha256(hash)`,
  )
  await expect.poll(() => old.signal.reason).toMatchObject({ code: 'invalid_api_key' })
  expect(ended.signal.aborted).toBe(false)
  old.end()
})
