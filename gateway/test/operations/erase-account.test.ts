/** An erased account: nothing of it is left but ids, times and amounts, also after a restore of an older database. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { runFullAudit } from '../../src/billing/ledger/audit-ledger.ts'
import { emptiedTables, erasedTables, keptTables } from '../../src/erasure/account-tables.ts'
import { repeatErasures } from '../../src/erasure/begin-erasure.ts'
import { isAuthentic, type Certificate } from '../../src/erasure/certificate.ts'
import { createErasureList, type ErasureList } from '../../src/erasure/erasure-list.ts'
import { startErasureLoop } from '../../src/erasure/erasure-loop.ts'
import { workOnErasures, type ErasureDependencies } from '../../src/erasure/work-on-erasures.ts'
import { createRequestId } from '../../src/platform/ids/request-id.ts'
import { createLog } from '../../src/platform/log.ts'
import { Secret } from '../../src/platform/secret.ts'
import { insertRequests } from '../../src/request-log/request-log-store.ts'
import { ask, expectProblem } from '../kit/answers.ts'
import { acceptedAt, daysAgo } from '../kit/expired.ts'
import { auditSecret, createAccount, createKey, subscribe } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { plantAccount, type PlantedAccount } from '../kit/planted-account.ts'
import { createTranscriber } from '../kit/recording.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { listKeys } from '../kit/stored-media.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'
import { tablesWith } from '../kit/whole-record.ts'

const live = new AbortController().signal
const secrets = [new Secret(auditSecret)]

let gateway: VendorGateway
let operator: Operator
let erasureList: ErasureList
let erasing: ErasureDependencies

beforeAll(async () => {
  gateway = await startVendorGateway()
  operator = await createOperator(gateway)
  erasureList = createErasureList(gateway.erasureStore)
  erasing = {
    ...{ postgres: gateway.database.postgres, mediaStore: gateway.mediaStore, auditSecrets: secrets },
    log: createLog({ level: 'silent' }, 'test'),
  }
})
afterAll(() => gateway[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Row>(text, values)).rows

/** As if the last pass had been long ago. */
const waitUntilSettled = (accountId: string) =>
  query(`update erasures set emptied_at = emptied_at - interval '10 minutes' where account_id = $1`, [
    accountId,
  ])
const jobsDeleted = (accountId: string) =>
  query('delete from job_removals where account_id = $1', [accountId])
const finish = async (accountId: string): Promise<Certificate> => {
  await workOnErasures(erasing, live)
  await waitUntilSettled(accountId)
  await jobsDeleted(accountId)
  await workOnErasures(erasing, live)
  const { certificate } = await operator.call('getErasure', { id: accountId })
  return certificate as Certificate
}
const logRequest = (accountId: string, address: string) =>
  insertRequests(gateway.database.postgres, [
    {
      ...{ id: createRequestId(), at: new Date(), accountId, keyId: null, operation: 'listModels' },
      ...{ method: 'GET', path: '/v1/models', status: 200, errorCode: null, model: null, provider: null },
      ...{ taskId: null, durationMs: 1, address, userAgent: address },
    },
  ])
const unsoundInvariants = async () =>
  (await runFullAudit(gateway.database.postgres)).findings.filter(({ violations }) => violations > 0)

describe('eraseAccount', () => {
  let erased: PlantedAccount
  let other: PlantedAccount
  let body: Record<string, unknown>

  beforeAll(async () => {
    const film = await makeVideo(gateway.directory)
    const transcriber = await createTranscriber(gateway)
    erased = await plantAccount(gateway, transcriber, film)
    other = await plantAccount(gateway, transcriber, film)
    for (const { accountId, word } of [erased, other]) {
      await operator.call('createTopUp', {
        id: accountId,
        body: { amount_micros: 5_000, reason: `Paid by ${word}`, reference: word },
      })
      await logRequest(accountId, word)
      await query(
        `insert into deleted_characters (id, account_id, created_at) values (gen_random_uuid(), $1, now())`,
        [accountId],
      )
      await query(
        `insert into idempotency_keys (account_id, name, operation, fingerprint, expires_at, status, body)
         values ($1, '\\x00', $2, '\\x00', now() + interval '1 day', 200, '\\x00')`,
        [accountId, word],
      )
    }
    body = await operator.call('eraseAccount', { id: erased.accountId })
  })

  test('refuses the keys at once and names the account no more, before anything is deleted', async () => {
    expect(body).toMatchObject({
      account_id: erased.accountId,
      status: 'erasing',
      finished_at: null,
      certificate: null,
    })
    for (const { text } of [erased.key, erased.subscriber]) {
      expectProblem(await ask(`${gateway.url}/v1/videos`, text), 'invalid_api_key')
    }
    expect(await operator.call('getAccount', { id: erased.accountId })).toMatchObject({
      ...{ name: '', status: 'suspended', spend_cap_micros: 0 },
      subscription: { plan_id: null, ends_at: expect.any(Number) as number },
      erased_at: expect.any(Number) as number,
    })
    expect(await erasureList.read(erased.accountId)).toEqual({
      accountId: erased.accountId,
      requestedAt: expect.any(Date) as Date,
      operatorKeyId: operator.id,
    })
    expect((await operator.call('listAuditEntries', { query: { target: erased.accountId } })).data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'eraseAccount', before: null, after: null }),
      ]),
    )
    expect(await tablesWith(gateway, erased.word)).toEqual(
      expect.arrayContaining(['video_tasks', 'transcription_segments', 'characters', 'request_log']),
    )
  })

  test('leaves neither texts nor files, releases holds, and touches no other account', async () => {
    const keysBefore = await listKeys(gateway.mediaStore)
    await workOnErasures(erasing, live)
    expect(await tablesWith(gateway, erased.word)).toEqual([])
    for (const table of ['video_tasks', 'transcription_tasks', 'media', 'characters', 'file_removals']) {
      expect(await query(`select from ${table} where account_id = $1`, [erased.accountId])).toEqual([])
    }
    const kept = await query<{ key: string }>(
      `select storage_key as key from media where removed_at is null union all
       select recording_key from transcription_tasks where recording_key is not null`,
    )
    expect((await listKeys(gateway.mediaStore)).toSorted()).toEqual(kept.map(({ key }) => key).toSorted())
    expect(keysBefore.length).toBeGreaterThan(kept.length)
    expect(
      await query('select held_micros as held from balances where account_id = $1 and held_micros <> 0', [
        erased.accountId,
      ]),
    ).toEqual([])
    expect(await unsoundInvariants()).toEqual([])
    expect((await ask(`${gateway.url}/v1/videos/${other.named.completed}`, other.key.text)).status).toBe(200)
    expect(await tablesWith(gateway, other.word)).toEqual(
      expect.arrayContaining(['accounts', 'account_movements', 'video_tasks', 'request_log']),
    )
  })

  test('is certified after late rows are deleted too', async () => {
    const { accountId, word } = erased
    await workOnErasures(erasing, live)
    expect(await operator.call('getErasure', { id: accountId })).toMatchObject({ status: 'erasing' })
    await logRequest(accountId, word)
    await acceptedAt(gateway.database.postgres, { accountId, keyId: erased.key.id }, daysAgo(0))
    const certificate = await finish(accountId)
    expect(await operator.call('eraseAccount', { id: accountId })).toMatchObject({
      ...{ status: 'erased', finished_at: certificate.finished_at, certificate },
    })
    expect(certificate).toMatchObject({
      ...{ account_id: accountId, operator_key_id: operator.id },
      deleted_rows: { video_tasks: 7, transcription_tasks: 4, characters: 3, deleted_characters: 1 },
      kept: expect.arrayContaining([
        { table: 'ledger_entries', rows: expect.any(Number) as number, reason: keptTables.ledger_entries },
      ]) as unknown,
      balances: expect.arrayContaining([
        { wallet: 'payg', available_micros: expect.any(Number) as number, held_micros: 0, currency: 'USD' },
      ]) as unknown,
    })
    expect(certificate.files.objects).toBeGreaterThan(0)
    expect(isAuthentic(certificate, secrets)).toBe(true)
    expect(isAuthentic({ ...certificate, files: { objects: 0, size_bytes: 0 } }, secrets)).toBe(false)
    expect(await tablesWith(gateway, word)).toEqual([])
  })
})

test('an account that does not exist, or is not erased, has no erasure', async () => {
  const accountId = await createAccount(gateway.database.postgres)
  expectProblem(await operator.ask('eraseAccount', { id: operator.id }), 'resource_not_found')
  expectProblem(await operator.ask('getErasure', { id: accountId }), 'resource_not_found')
})

test('an erased account cannot be changed, funded or given a key, but what is left can be paid out', async () => {
  const id = await createAccount(gateway.database.postgres, { balance: 10 })
  await operator.call('eraseAccount', { id })
  const refused = [
    await operator.ask('updateAccount', { id, body: { name: 'again', status: 'active' } }),
    await operator.ask('createKey', { id, body: { kind: 'payg' } }),
    await operator.ask('createTopUp', { id, body: { amount_micros: 5, reason: 'more' } }),
  ]
  for (const answer of refused) expectProblem(answer, 'resource_not_found')
  await operator.call('createAdjustment', { id, body: { amount_micros: -10_000_000, reason: 'paid out' } })
  expect((await finish(id)).balances).toEqual([
    { wallet: 'payg', available_micros: 0, held_micros: 0, currency: 'USD' },
  ])
})

test('nothing changes if the list cannot be written', async () => {
  const id = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, id)
  const directory = join(gateway.directory, 'a-file')
  await writeFile(directory, '')
  await using broken = await startVendorGateway({ ERASURE_LIST: directory }, {}, {}, gateway)
  const answer = await ask(`${broken.url}/admin/v1/accounts/${id}`, operator.text, { method: 'DELETE' })
  expect(answer.status).toBeGreaterThanOrEqual(500)
  expect((await ask(`${gateway.url}/v1/videos`, text)).status).toBe(200)
  expect(await operator.call('getAccount', { id })).toMatchObject({ status: 'active', erased_at: null })
  await rm(directory)
})

describe('the erasure list', () => {
  test('repeats what the database does not know, once, and ignores what is not of it', async () => {
    const id = await createAccount(gateway.database.postgres)
    await subscribe(gateway.database.postgres, id)
    const { text } = await createKey(gateway.database.postgres, id)
    const requestedAt = daysAgo(3)
    await erasureList.add({ accountId: id, requestedAt, operatorKeyId: null })
    await erasureList.add({ accountId: operator.id, requestedAt, operatorKeyId: null })
    expect(await repeatErasures(gateway.database.postgres, [erasureList])).toEqual([id])
    expect(await repeatErasures(gateway.database.postgres, [erasureList])).toEqual([])
    expectProblem(await ask(`${gateway.url}/v1/videos`, text), 'invalid_api_key')
    expect(await operator.call('getErasure', { id })).toMatchObject({
      requested_at: Math.floor(requestedAt.getTime() / 1000),
    })
  })

  test('is compared with the database when a worker starts, also if the database was restored', async () => {
    const id = await createAccount(gateway.database.postgres, { balance: 7 })
    await erasureList.add({ accountId: id, requestedAt: new Date(), operatorKeyId: null })
    // Another worker has just done so, according to the database.
    await query(
      `insert into ticks (loop, key, id, ticked_at) values ('erasures', 'list', '', now()), ('erasures', 'work', '', now())
       on conflict (loop, key, id) do update set ticked_at = now()`,
    )
    const loop = startErasureLoop({ ...erasing, erasureList })
    await expect
      .poll(() => query('select from erasures where account_id = $1 and emptied_at is not null', [id]))
      .toHaveLength(1)
    await loop.stop()
  })
})

test('every table that refers to accounts, keys or tasks is erased, emptied, or kept for a reason', async () => {
  const rows = await query<{ table: string }>(
    `select distinct c.relname as table from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and (a.attname in ('account_id', 'key_id', 'task_id', 'delivery_id', 'owner', 'target') or c.relname in ('accounts', 'keys'))
      order by 1`,
  )
  const known = [...erasedTables, ...Object.keys(emptiedTables), ...Object.keys(keptTables)]
  expect(rows.map(({ table }) => table)).toEqual(known.toSorted())
})
