/**
 * Every operation with every set of scopes: a key without one of the operation's scopes is refused before anything else
 * happens, and a key with one does not reach what belongs to another account. Generated from the table of operations;
 * `leak-matrix.test.ts` compares the responses themselves.
 */
import { randomBytes } from 'node:crypto'

import type { ErrorCode } from '@kinora/contract/errors'
import { keyScopes, type KeyScope } from '@kinora/contract/key-scope'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createMeter } from '../../src/billing/metering/meter.ts'
import { priceOf } from '../../src/billing/prices/price.ts'
import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { createLog } from '../../src/platform/log.ts'
import { ask, expectProblem, type Answer } from '../kit/answers.ts'
import { callerOf } from '../kit/caller-of.ts'
import { acceptedAt, recordingAt } from '../kit/expired.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { wholeRecordOf } from '../kit/whole-record.ts'

/** What the other account has, by what the paths name. */
interface Theirs {
  video: string
  recording: string
  character: string
  key: string
  request: string
  endpoint: string
  delivery: string
}

interface Asked {
  path?: Record<string, string>
  query?: Record<string, string>
  body?: object
  code: ErrorCode
}

const changeEndpoint = ({ endpoint }: Theirs): Asked[] => [
  { path: { id: endpoint }, body: { name: 'A' }, code: 'resource_not_found' },
]

/** Every place of an operation where a key can name something that belongs to an account. */
const named: Record<string, (theirs: Theirs) => Asked[]> = {
  createVideo: ({ video }) => [
    {
      body: { model: 'vidB-2', prompt: 'A', seconds: 4, size: '480x480', character_from_task: video },
      code: 'task_not_found',
    },
  ],
  editVideo: ({ video }) => [{ body: { prompt: 'A', video: { id: video } }, code: 'task_not_found' }],
  createCharacter: ({ video }) => [{ body: { from_task: video, timestamps: '0,1' }, code: 'task_not_found' }],
  queryVideoTask: ({ video }) => [{ query: { id: video }, code: 'task_not_found' }],
  getVideo: ({ video }) => [{ path: { id: video }, code: 'task_not_found' }],
  deleteVideo: ({ video }) => [{ path: { id: video }, code: 'task_not_found' }],
  cancelVideo: ({ video }) => [{ path: { id: video }, code: 'task_not_found' }],
  getVideoTimeline: ({ video }) => [{ path: { id: video }, code: 'task_not_found' }],
  getVideoContent: ({ video }) => [{ path: { id: video }, code: 'task_not_found' }],
  followVideo: ({ video }) => [{ path: { id: video }, code: 'task_not_found' }],
  remixVideo: ({ video }) => [{ path: { id: video }, body: { prompt: 'A' }, code: 'task_not_found' }],
  getCharacter: ({ character }) => [{ path: { id: character }, code: 'character_not_found' }],
  renameCharacter: ({ character }) => [
    { path: { id: character }, body: { username: 'another.name' }, code: 'character_not_found' },
  ],
  deleteCharacter: ({ character }) => [{ path: { id: character }, code: 'character_not_found' }],
  getTranscriptionTask: ({ recording }) => [{ path: { id: recording }, code: 'task_not_found' }],
  getTranscript: ({ recording }) => [{ path: { id: recording }, code: 'task_not_found' }],
  deleteTranscriptionTask: ({ recording }) => [{ path: { id: recording }, code: 'task_not_found' }],
  getReceipt: ({ video, recording, request }) =>
    [video, recording, request].map((id) => ({ path: { id }, code: 'task_not_found' as const })),
  getAccountKey: ({ key }) => [{ path: { id: key }, code: 'resource_not_found' }],
  updateAccountKey: ({ key }) => [{ path: { id: key }, body: { name: 'A' }, code: 'resource_not_found' }],
  rotateAccountKey: ({ key }) => [{ path: { id: key }, body: {}, code: 'resource_not_found' }],
  deleteAccountKey: ({ key }) => [{ path: { id: key }, code: 'resource_not_found' }],
  getWebhookEndpoint: ({ endpoint }) => [{ path: { id: endpoint }, code: 'resource_not_found' }],
  updateWebhookEndpoint: changeEndpoint,
  postWebhookEndpoint: changeEndpoint,
  deleteWebhookEndpoint: ({ endpoint }) => [{ path: { id: endpoint }, code: 'resource_not_found' }],
  rotateWebhookEndpointSecret: ({ endpoint }) => [
    { path: { id: endpoint }, body: {}, code: 'resource_not_found' },
  ],
  testWebhookEndpoint: ({ endpoint }) => [{ path: { id: endpoint }, body: {}, code: 'resource_not_found' }],
  redeliverWebhookEndpoint: ({ endpoint }) => [
    { path: { id: endpoint }, body: { since: 1 }, code: 'resource_not_found' },
  ],
  getWebhookDelivery: ({ delivery }) => [{ path: { id: delivery }, code: 'resource_not_found' }],
  redeliverWebhookDelivery: ({ delivery }) => [{ path: { id: delivery }, code: 'resource_not_found' }],
}
/** Models belong to nobody, and a month names no account. */
const ofNobody = ['getModel', 'getStatement']

const sets: KeyScope[][] = keyScopes
  .reduce<KeyScope[][]>((all, scope) => [...all, ...all.map((set) => [...set, scope])], [[]])
  .filter((set) => set.length > 0)

const ofCustomers = Object.values(operations).flatMap((operation: Operation): [string, Operation][] =>
  operation.access === 'key' ? [[operation.id, operation]] : [],
)

let gateway: TestGateway
let theirs: Theirs
let keys: { scopes: KeyScope[]; text: string }[]

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  const caller = await createAccount(postgres)
  keys = await Promise.all(
    sets.map(async (scopes) => ({ scopes, text: (await createKey(postgres, caller, { scopes })).text })),
  )
  const accountId = await createAccount(postgres)
  const { id: keyId } = await createKey(postgres, accountId)
  const video = await acceptedAt(postgres, { accountId, keyId }, new Date())
  const { mediaId } = await completeTask(gateway, accountId, video.id)
  const recording = await recordingAt(postgres, { accountId, keyId }, new Date())
  const meter = createMeter({ postgres, log: createLog({ level: 'silent' }, 'test') })
  const metered = await meter.open({
    ...{
      caller: callerOf(accountId, keyId),
      operation: 'createSpeech',
      model: { id: 'asr-1', name: 'asr-1' },
    },
    ...{ provider: 'local', heldFor: [priceOf('minute', 6_000, 60)] },
  })
  await metered.settle('failed', [])
  await meter.close()
  const character = uuidV7()
  await postgres.query(
    `insert into characters (id, account_id, username, source, clip_media_id, portrait_media_id)
     values ($1, $2, $3, 'a source', $4, $4)`,
    [character, accountId, `u${randomBytes(6).toString('hex')}`, mediaId],
  )
  const endpoint = uuidV7()
  const delivery = uuidV7()
  await postgres.query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret)
     values ($1, $2, 'account', 'https://example.com', '{video.failed}', '')`,
    [endpoint, accountId],
  )
  await postgres.query(
    `insert into webhook_deliveries (day, id, account_id, endpoint_id, event_id, type, object_id, occurred_at, next_attempt_at)
     values ((now() at time zone 'utc')::date, $1, $2, $3, 'evt_1', 'video.failed', $4, now(), now() + interval '1 hour')`,
    [delivery, accountId, endpoint, video.id],
  )
  theirs = {
    ...{ video: video.id, recording: recording.id, character, key: keyId, request: metered.id },
    ...{ endpoint, delivery },
  }
  // The first read creates the secret of the account.
  for (const { text } of keys) await ask(new URL('/v1/webhook_secret', gateway.url).href, text)
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A request that no handler executes: the body is not JSON, unless one is given. */
const send = (
  { path: route, method, body: accepted }: Operation,
  { path = {}, query = {}, body }: Partial<Asked>,
  key: string,
): Promise<Answer> => {
  const url = new URL(
    route.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? 'x')),
    gateway.url,
  )
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const takesJson = accepted?.json !== null && accepted !== undefined
  return ask(url.href, key, {
    method,
    headers: {
      'idempotency-key': randomBytes(8).toString('hex'),
      ...(takesJson && { 'content-type': 'application/json' }),
    },
    ...(accepted !== undefined && { body: body === undefined ? '{' : JSON.stringify(body) }),
  })
}

test.each(ofCustomers)('%s says what comes of the names in its path', (id, { path }) => {
  if (!path.includes('{') || ofNobody.includes(id)) return
  expect(
    named[id],
    `Add ${id} to 'named': every place where something of another account could be named, and the error that it gets.`,
  ).toBeDefined()
})

test('there is no row without an operation', () => {
  const known = ofCustomers.map(([id]) => id)
  expect([...Object.keys(named), ...ofNobody].filter((id) => !known.includes(id))).toEqual([])
})

const requestsOf = (id: string): Asked[] => named[id]?.(theirs) ?? []

describe('without its scope a key is refused before anything else happens', () => {
  test.each(ofCustomers)('%s', async (id, operation) => {
    const needed: readonly string[] = operation.access === 'key' ? operation.scopes : []
    const before = await wholeRecordOf(gateway)
    for (const { scopes, text } of keys) {
      if (scopes.some((scope) => needed.includes(scope))) continue
      for (const asked of [{}, ...requestsOf(id)])
        expectProblem(await send(operation, asked, text), 'insufficient_scope')
    }
    expect(await wholeRecordOf(gateway)).toEqual(before)
  })
})

describe("with its scope a key does not reach another account's things", () => {
  test.each(ofCustomers)('%s', async (id, operation) => {
    const needed: readonly string[] = operation.access === 'key' ? operation.scopes : []
    const before = await wholeRecordOf(gateway)
    for (const { scopes, text } of keys) {
      if (!scopes.some((scope) => needed.includes(scope))) continue
      for (const asked of requestsOf(id)) {
        const answer = await send(operation, asked, text)
        expect(answer.body).toMatchObject({ error: { code: asked.code } })
        expect(answer.status).toBe(404)
      }
      const { body } = await send(operation, {}, text)
      expect(JSON.stringify(body)).not.toContain('insufficient_scope')
    }
    expect(await wholeRecordOf(gateway)).toEqual(before)
  })
})
