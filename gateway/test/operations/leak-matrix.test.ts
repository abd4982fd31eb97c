/**
 * No account learns anything about another. Generated from the table of operations: each operation has a row with a
 * request for the caller's own data, and one for the data of another account.
 */
import { randomBytes } from 'node:crypto'

import type { ErrorCode } from '@kinora/contract/errors'
import { keyScopes, type KeyScope } from '@kinora/contract/key-scope'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { expectProblem } from '../kit/answers.ts'
import { createKey, keySecret, linkSecret, type TestKey } from '../kit/factories.ts'
import { neverNamed, plantAccount, textsIn, type Named, type PlantedAccount } from '../kit/planted-account.ts'
import { createTranscriber } from '../kit/recording.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'
import { columnsOf, tablesWith, wholeRecordOf } from '../kit/whole-record.ts'

let gateway: VendorGateway
let accounts: PlantedAccount[]
let operator: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway({ CHARACTER_WAIT_SECONDS: '120' })
  const film = await makeVideo(gateway.directory)
  const transcriber = await createTranscriber(gateway)
  accounts = []
  for (let count = 0; count < 3; count += 1) accounts.push(await plantAccount(gateway, transcriber, film))
  operator = await createKey(gateway.database.postgres, '', { kind: 'admin' })
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface Asked {
  path?: Record<string, string>
  query?: Record<string, string>
  body?: object
}
/** Without a code the answer is whatever the same request gets that names nothing. */
interface AskedInVain extends Asked {
  code?: ErrorCode
}
interface Row {
  /** A request for the account's own data; a create requests a quote. */
  own: (account: PlantedAccount) => Asked[]
  /** For what is named here, which is not the caller's; or why there is nothing to name. */
  others: ((named: Named) => AskedInVain[]) | string
}

const currentMonth = () => new Date().toISOString().slice(0, 7)
const quote = { dry_run: 'true' }
const videoOrder = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }
const taskOrder = { model: 'vidA3.1', prompt: 'A whale' }
const talkOrder = { model: 'chat-4o-audio-preview', messages: [{ role: 'user', content: 'Hello' }] }
const speechOrder = { model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy' }
const recordingOrder = () => audioForm(wave(1), { model: 'asr-1' })
const tasksOf = ({ pending, completed, failed }: Named) => [pending, completed, failed]
const recordingsOf = ({ transcriptions }: Named) => tasksOf({ ...transcriptions } as Named)
const charactersOf = ({ character, privateCharacter }: Named) => [character.id, privateCharacter.id]
const byId = (ids: string[], code: ErrorCode, more: Asked = {}): AskedInVain[] =>
  ids.map((id) => ({ ...more, path: { id }, code }))
const endpointOrder = { url: 'https://example.com/hook', events: ['webhook_endpoint.disabled'] }
const endpointChanges = (id: string) =>
  [{ name: 'theirs' }, { disabled: true }, { url: 'https://example.com/theirs' }, {}].flatMap((body) =>
    byId([id], 'resource_not_found', { body }),
  )
/** A link in our format without a valid signature. */
const forged = { expires: '9999999999', key: '00000000', signature: 'A'.repeat(43) }
const forgedLinks = ({ media, portrait }: Named) =>
  [media, portrait].map((id) => `${gateway.url}/media/${id}/x?${String(new URLSearchParams(forged))}`)

const rows: Record<string, Row> = {
  createVideo: {
    own: ({ named: { completed, character } }) => [
      { query: quote, body: { ...videoOrder, prompt: `@${character.username} swims` } },
      { query: quote, body: { ...videoOrder, character_from_task: completed, character_timestamps: '0,1' } },
    ],
    others: (named) => [
      ...tasksOf(named).map((id) => ({
        body: { ...videoOrder, character_from_task: id },
        code: 'task_not_found' as const,
      })),
      ...forgedLinks(named).flatMap((url) => [
        { body: { ...videoOrder, character_url: url } },
        { body: { ...videoOrder, input_reference: url } },
      ]),
      ...[named.character, named.privateCharacter].map(({ username }) => ({
        query: quote,
        body: { ...videoOrder, prompt: `@${username} swims` },
      })),
    ],
  },
  getVideo: {
    own: ({ named }) => tasksOf(named).map((id) => ({ path: { id } })),
    others: (named) => [
      ...byId(tasksOf(named), 'task_not_found'),
      ...byId([named.pending], 'task_not_found', { query: { wait: '1' } }),
      ...byId(recordingsOf(named), 'task_not_found'),
    ],
  },
  listVideos: {
    own: () => [{}, { query: { limit: '2', order: 'asc' } }],
    others: (named) => tasksOf(named).map((after) => ({ query: { after } })),
  },
  deleteVideo: {
    own: ({ spare }) => [{ path: { id: spare.completed } }],
    others: (named) => byId(tasksOf(named), 'task_not_found'),
  },
  cancelVideo: {
    own: ({ spare }) => [{ path: { id: spare.pending } }],
    others: (named) => byId(tasksOf(named), 'task_not_found'),
  },
  getVideoTimeline: {
    own: ({ named }) => tasksOf(named).map((id) => ({ path: { id } })),
    others: (named) => [
      ...byId(tasksOf(named), 'task_not_found'),
      ...byId(recordingsOf(named), 'task_not_found'),
    ],
  },
  getVideoContent: {
    own: ({ named: { completed } }) => [
      { path: { id: completed } },
      { path: { id: completed }, query: { variant: 'video' } },
    ],
    others: (named) => [
      ...byId(tasksOf(named), 'task_not_found'),
      ...byId(tasksOf(named), 'task_not_found', { query: { variant: 'video' } }),
      ...byId([named.completed], 'task_not_found', { query: { variant: 'thumbnail' } }),
    ],
  },
  followVideo: {
    own: ({ named: { completed, failed } }) => [{ path: { id: completed } }, { path: { id: failed } }],
    others: (named) => [
      ...byId(tasksOf(named), 'task_not_found'),
      ...byId(tasksOf(named), 'task_not_found', { query: { last_event_id: '1' } }),
    ],
  },
  remixVideo: {
    own: ({ named }) => [{ path: { id: named.completed }, query: quote, body: { prompt: 'At night' } }],
    others: (named) => byId(tasksOf(named), 'task_not_found', { body: { prompt: 'At night' } }),
  },
  editVideo: {
    own: ({ named }) => [{ query: quote, body: { prompt: 'At night', video: { id: named.completed } } }],
    others: (named) =>
      tasksOf(named).map((id) => ({ body: { prompt: 'At night', video: { id } }, code: 'task_not_found' })),
  },
  createVideoTask: {
    own: () => [{ query: quote, body: taskOrder }],
    others: (named) => forgedLinks(named).map((url) => ({ body: { ...taskOrder, images: [url] } })),
  },
  queryVideoTask: {
    own: ({ named }) => tasksOf(named).map((id) => ({ query: { id } })),
    others: (named) => tasksOf(named).map((id) => ({ query: { id }, code: 'task_not_found' })),
  },
  createCharacter: {
    own: ({ named: { completed } }) => [{ query: quote, body: { from_task: completed, timestamps: '0,1' } }],
    others: (named) => [
      ...tasksOf(named).map((id) => ({ body: { from_task: id }, code: 'task_not_found' as const })),
      ...forgedLinks(named).map((url) => ({ body: { url } })),
    ],
  },
  listCharacters: {
    own: () => [{}, { query: { limit: '1' } }],
    others: (named) =>
      charactersOf(named).map((after) => ({ query: { after }, code: 'invalid_parameter' as const })),
  },
  getCharacter: {
    own: ({ named }) => charactersOf(named).map((id) => ({ path: { id } })),
    others: (named) => byId(charactersOf(named), 'character_not_found'),
  },
  renameCharacter: {
    own: ({ named: { character } }) => [
      { path: { id: character.id }, body: { username: character.username } },
    ],
    others: (named) =>
      byId(charactersOf(named), 'character_not_found', {
        body: { username: `n${randomBytes(6).toString('hex')}` },
      }),
  },
  deleteCharacter: {
    own: ({ spare }) => [{ path: { id: spare.character } }],
    others: (named) => byId(charactersOf(named), 'character_not_found'),
  },
  showCharacter: {
    own: ({ named: { character } }) => [{ path: { username: character.username } }],
    others: ({ privateCharacter: { username } }) =>
      [{}, forged, { signature: 'x' }, { ...forged, expires: '1' }].map((query) => ({
        path: { username },
        query,
        code: 'character_not_found',
      })),
  },
  completeChat: {
    own: ({ named: { reply } }) => [
      { query: quote, body: talkOrder },
      { query: quote, body: { ...talkOrder, model: 'vidB-2' } },
      {
        query: quote,
        body: {
          ...talkOrder,
          messages: [{ role: 'assistant', audio: { id: reply } }, ...talkOrder.messages],
        },
      },
    ],
    others: ({ reply, character: { username } }) => [
      {
        body: {
          ...talkOrder,
          messages: [{ role: 'assistant', audio: { id: reply } }, ...talkOrder.messages],
        },
        code: 'invalid_parameter',
      },
      {
        query: quote,
        body: { model: 'vidB-2', messages: [{ role: 'user', content: `@${username} swims` }] },
      },
    ],
  },
  createTranscription: {
    own: () => [{ query: quote, body: recordingOrder() }],
    others: 'it takes a file and no name of anything',
  },
  createTranslation: {
    own: () => [{ query: quote, body: recordingOrder() }],
    others: 'it takes a file and no name of anything',
  },
  createSpeech: {
    own: () => [{ query: quote, body: speechOrder }],
    others: 'it takes a text and no name of anything',
  },
  createTranscriptionTask: {
    own: () => [{ query: quote, body: recordingOrder() }],
    others: 'it takes a file and no name of anything',
  },
  listTranscriptionTasks: {
    own: () => [{}, { query: { limit: '1', order: 'asc' } }],
    others: (named) => recordingsOf(named).map((after) => ({ query: { after } })),
  },
  getTranscriptionTask: {
    own: ({ named }) => recordingsOf(named).map((id) => ({ path: { id } })),
    others: (named) => byId([...recordingsOf(named), named.completed], 'task_not_found'),
  },
  getTranscript: {
    own: ({ named: { transcriptions } }) =>
      ['json', 'text', 'srt', 'vtt', 'verbose_json'].map((format) => ({
        path: { id: transcriptions.completed },
        query: { response_format: format },
      })),
    others: (named) => byId(recordingsOf(named), 'task_not_found'),
  },
  deleteTranscriptionTask: {
    own: ({ spare }) => [{ path: { id: spare.transcription } }],
    others: (named) => byId(recordingsOf(named), 'task_not_found'),
  },
  getWebhookSecret: { own: () => [{}], others: 'it belongs to the account of the key' },
  rotateWebhookSecret: {
    own: () => [{ body: { overlap_seconds: 60 } }],
    others: 'it belongs to the account of the key',
  },
  getMe: { own: () => [{}], others: 'it is about the key itself' },
  getUsage: {
    own: () => [
      {},
      { query: { scope: 'account', group_by: 'hour,model,key' } },
      { query: { scope: 'key', group_by: 'key' } },
      { query: { group_by: 'metadata.note', 'metadata[note]': 'x' } },
    ],
    others: 'it is about the key and its account',
  },
  getReceipt: {
    own: ({ named }) =>
      [...tasksOf(named), ...recordingsOf(named), named.request].map((id) => ({ path: { id } })),
    others: (named) => byId([...tasksOf(named), ...recordingsOf(named), named.request], 'task_not_found'),
  },
  getOwnAccount: { own: () => [{}], others: 'it is the account of the key' },
  updateOwnAccount: {
    own: () => [{ body: { balance_alert_micros: 1, spend_alerts: [1_000_000] } }],
    others: 'it is the account of the key',
  },
  createAccountKey: {
    own: () => [{ body: { name: 'another' } }],
    others: 'it belongs to the account of the key',
  },
  listEvents: {
    own: () => [{}, { query: { limit: '2', order: 'asc' } }],
    others: 'a cursor is encrypted; list-events.test.ts sends those of another account',
  },
  listAccountKeys: {
    own: () => [{}, { query: { limit: '1' } }],
    others: ({ key }) => [
      { query: { cursor: Buffer.from(JSON.stringify(['keys', '1', key])).toString('base64url') } },
    ],
  },
  getAccountKey: {
    own: ({ key, subscriber }) => [{ path: { id: key.id } }, { path: { id: subscriber.id } }],
    others: ({ key }) => byId([key], 'resource_not_found'),
  },
  updateAccountKey: {
    own: ({ spare }) => [{ path: { id: spare.keys[0] }, body: { name: 'renamed' } }],
    others: ({ key }) =>
      [{ name: 'theirs' }, { disabled: true }, { scopes: ['read'] }, {}].flatMap((body) =>
        byId([key], 'resource_not_found', { body }),
      ),
  },
  rotateAccountKey: {
    own: ({ spare }) => [{ path: { id: spare.keys[0] }, body: { overlap_seconds: 60 } }],
    others: ({ key }) => byId([key], 'resource_not_found', { body: {} }),
  },
  deleteAccountKey: {
    own: ({ spare }) => [{ path: { id: spare.keys[1] } }],
    others: ({ key }) => byId([key], 'resource_not_found'),
  },
  listStatements: { own: () => [{}], others: 'they are of the account of the key' },
  getStatement: {
    own: () =>
      ['json', 'csv', 'html'].map((format) => ({ path: { month: currentMonth() }, query: { format } })),
    // A month names no account: nothing but the caller's own statement can be asked for.
    others: ({ key }) => [
      ...['1999-12', key].map((month) => ({ path: { month }, code: 'resource_not_found' as const })),
    ],
  },
  createWebhookEndpoint: {
    own: () => [{ body: endpointOrder }],
    others: 'it belongs to the account of the key',
  },
  listWebhookEndpoints: {
    own: () => [{}, { query: { limit: '1' } }],
    others: ({ endpoint }) => [{ query: { after: endpoint }, code: 'invalid_parameter' }],
  },
  getWebhookEndpoint: {
    own: ({ named }) => [{ path: { id: named.endpoint } }],
    others: ({ endpoint }) => byId([endpoint], 'resource_not_found'),
  },
  updateWebhookEndpoint: {
    own: ({ named }) => [{ path: { id: named.endpoint }, body: { concurrency: 5 } }],
    others: ({ endpoint }) => endpointChanges(endpoint),
  },
  postWebhookEndpoint: {
    own: ({ named }) => [{ path: { id: named.endpoint }, body: { concurrency: 6 } }],
    others: ({ endpoint }) => endpointChanges(endpoint),
  },
  deleteWebhookEndpoint: {
    own: ({ spare }) => [{ path: { id: spare.endpoint } }],
    others: ({ endpoint }) => byId([endpoint], 'resource_not_found'),
  },
  rotateWebhookEndpointSecret: {
    own: ({ named }) => [{ path: { id: named.endpoint }, body: {} }],
    others: ({ endpoint }) => byId([endpoint], 'resource_not_found', { body: {} }),
  },
  testWebhookEndpoint: {
    own: ({ named }) => [{ path: { id: named.endpoint }, body: {} }],
    others: ({ endpoint }) => byId([endpoint], 'resource_not_found', { body: {} }),
  },
  redeliverWebhookEndpoint: {
    own: ({ named }) => [{ path: { id: named.endpoint }, body: { since: 1 } }],
    others: ({ endpoint }) => byId([endpoint], 'resource_not_found', { body: { since: 1 } }),
  },
  listWebhookEventTypes: { own: () => [{}], others: 'they are the same for everybody' },
  getWebhookKeys: { own: () => [{}], others: 'they are the same for everybody' },
  listWebhookDeliveries: {
    own: ({ named }) => [{}, { query: { limit: '1' } }, { query: { endpoint_id: named.endpoint } }],
    others: ({ endpoint, delivery, completed }) => [
      { query: { endpoint_id: endpoint } },
      { query: { object_id: completed } },
      {
        query: {
          cursor: Buffer.from(JSON.stringify(['webhook-deliveries', '1', delivery])).toString('base64url'),
        },
      },
    ],
  },
  getWebhookDelivery: {
    own: ({ named }) => [{ path: { id: named.delivery } }],
    others: ({ delivery }) => byId([delivery], 'resource_not_found'),
  },
  redeliverWebhookDelivery: {
    own: ({ named }) => [{ path: { id: named.delivery } }],
    others: ({ delivery }) => byId([delivery], 'resource_not_found'),
  },
  listModels: { own: () => [{}], others: 'models belong to nobody' },
  getModel: { own: () => [{ path: { id: 'vidB-2' } }], others: 'models belong to nobody' },
  listVoices: { own: () => [{}], others: 'voices belong to nobody' },
  getVoiceSample: {
    own: () => [],
    others: () =>
      [forged, { ...forged, expires: '1' }].map((query) => ({
        path: { model: 'chat-4o-mini-tts-2025-12-15', voice: 'alloy' },
        query,
        code: 'media_not_found' as const,
      })),
  },
  getMedia: {
    own: () => [],
    others: ({ media, portrait }) =>
      [media, portrait].flatMap((id) =>
        [forged, { ...forged, expires: '1' }].map((query) => ({
          path: { id, name: 'video.mp4' },
          query,
          code: 'media_not_found' as const,
        })),
      ),
  },
  // The sessions of other accounts are in console-session-ends.test.ts, because a key does not open these operations.
  createConsoleSession: { own: () => [], others: 'it names nothing but secrets' },
  createConsoleLink: { own: () => [], others: 'it names nothing but secrets' },
  checkConsoleLink: { own: () => [], others: 'it names nothing but a secret' },
  getConsoleSession: { own: () => [], others: 'it names nothing' },
  deleteConsoleSession: { own: () => [], others: 'it names nothing' },
  listConsoleSessions: { own: () => [], others: 'it names nothing' },
  revokeConsoleSession: {
    own: () => [],
    others: ({ pending }) => [{ path: { id: pending }, code: 'missing_session' }],
  },
  getService: { own: () => [{}], others: 'it is the same for everybody' },
  getDocs: { own: () => [{}], others: 'it is the same for everybody' },
  getLlms: { own: () => [{}], others: 'it is the same for everybody' },
  getLlmsFull: { own: () => [{}], others: 'it is the same for everybody' },
  getErrorDocs: { own: () => [{}], others: 'it is the same for everybody' },
  getStatus: { own: () => [{}], others: 'it is the same for everybody' },
  getOpenapi: { own: () => [{}], others: 'it is the same for everybody' },
}

interface Replied {
  status: number
  headers: Headers
  text: string
}

const send = async (operation: Operation, { path = {}, query = {}, body }: Asked, key?: string) => {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  )
  const url = new URL(filled, gateway.url)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const isForm = body instanceof FormData
  const response = await fetch(url, {
    method: operation.method,
    headers: {
      ...(key !== undefined && operation.access === 'key' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, text: bytes.toString('latin1') }
}

const all = Object.values(operations).map((operation): [string, Operation] => [operation.id, operation])
const takingKeys = all.filter(([, { access }]) => access === 'key')
const rowOf = (id: string): Row => rows[id] ?? { own: () => [], others: 'no row' }

describe('every operation has its row', () => {
  test.each(all)('%s', (id, { path }) => {
    const row = rows[id]
    expect(
      row,
      `Add ${id} to 'rows': how an account asks for what it has, and every place where a name of something of another account could be put.`,
    ).toBeDefined()
    const isNamed = path.includes('{') && !path.startsWith('/v1/models/')
    expect(
      isNamed && typeof row?.others === 'string',
      `${id} takes a name in its path: 'others' must say what comes of one that is not the caller's.`,
    ).toBe(false)
  })

  test('there is no row without an operation', () => {
    expect(Object.keys(rows).toSorted()).toEqual(all.map(([id]) => id).toSorted())
  })
})

/** Everything that identifies an account. */
const marksOf = ({ accountId, key, subscriber, word, named, spare }: PlantedAccount) => [
  ...[accountId, key.id, key.text, subscriber.id, subscriber.text, word],
  ...textsIn(named),
  ...textsIn(spare),
  ...charactersOf(named).map((id) => id.slice('char_'.length)),
]

const changing = new Set([
  'date',
  'x-request-id',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'retry-after-ms',
  'connection',
  'keep-alive',
])
/** An answer without what differs between any two: times, links that are made anew, and the names that were asked for. */
const comparable = ({ status, headers, text }: Replied, named: Named) => {
  const plain = textsIn(named).reduce((rest, name) => rest.replaceAll(name, '<named>'), text)
  return {
    status,
    headers: Object.fromEntries([...headers].filter(([name]) => !changing.has(name))),
    text: plain.replace(/\?expires=[^"]+/g, '?<signed>').replace(/"request_id":"[^"]+"/, ''),
  }
}

const expectRefused = ({ status, headers, text }: Replied, code: ErrorCode) => {
  const body = JSON.parse(text) as { error: { param?: string } }
  expectProblem({ status, headers, body }, code, body.error.param)
}

describe("another account's things are as if they had never been", () => {
  test.each(all)('%s', async (id, operation) => {
    const { others } = rowOf(id)
    if (typeof others === 'string') return
    const before = await wholeRecordOf(gateway)
    for (const caller of accounts) {
      for (const owner of accounts.filter((account) => account !== caller)) {
        const never = neverNamed(owner.named)
        const unknown = others(never)
        for (const [index, asked] of others(owner.named).entries()) {
          const answer = await send(operation, asked, caller.key.text)
          const expected = await send(operation, unknown[index] ?? {}, caller.key.text)
          expect(comparable(answer, owner.named)).toEqual(comparable(expected, never))
          if (asked.code !== undefined) expectRefused(answer, asked.code)
        }
      }
    }
    expect(await wholeRecordOf(gateway)).toEqual(before)
  })
})

/** The paths of the members that a schema does not declare. */
const undeclaredIn = (schema: unknown, value: unknown, at = ''): string[] => {
  const { anyOf, properties, items, patternProperties } = schema as {
    anyOf?: unknown[]
    properties?: Record<string, unknown>
    items?: unknown
    patternProperties?: unknown
  }
  if (anyOf !== undefined) {
    const found = anyOf.map((each) => undeclaredIn(each, value, at))
    return found.find((each) => each.length === 0) ?? found[0] ?? []
  }
  if (Array.isArray(value))
    return items === undefined ? [] : value.flatMap((each) => undeclaredIn(items, each, at))
  if (typeof value !== 'object' || value === null || patternProperties !== undefined) return []
  // A schema without members allows any.
  if (properties === undefined || Object.keys(properties).length === 0) return []
  return Object.entries(value).flatMap(([name, member]) =>
    properties[name] === undefined
      ? [`${at}.${name}`]
      : undeclaredIn(properties[name], member, `${at}.${name}`),
  )
}

describe("an account sees its own things, nobody else's, and nothing of how they are made", () => {
  const shown = new Map<PlantedAccount, string>()

  test.each(all)('%s', async (id, operation) => {
    const inside = [keySecret, linkSecret, vendorKey, gateway.vendor.url, gateway.directory]
    for (const account of accounts) {
      const forbidden = [
        ...accounts.filter((other) => other !== account).flatMap(marksOf),
        ...inside,
        account.key.text,
      ]
      for (const asked of rowOf(id).own(account)) {
        const { status, headers, text } = await send(operation, asked, account.key.text)
        expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' })
        const whole = `${JSON.stringify(Object.fromEntries(headers))}\n${text}`
        expect(forbidden.filter((mark) => whole.includes(mark))).toEqual([])
        shown.set(account, `${shown.get(account) ?? ''}${whole}`)
        const isJson = headers.get('content-type')?.startsWith('application/json') === true
        if (isJson && asked.query !== quote && operation.answer.schema !== undefined)
          expect(undeclaredIn(operation.answer.schema, JSON.parse(text))).toEqual([])
      }
    }
  })

  test('the planted data could have been found', () => {
    for (const account of accounts) {
      const text = shown.get(account) ?? ''
      const { word, accountId, key, named } = account
      for (const mark of [
        `${word} & sons`,
        `${word} payg`,
        `Waiting ${word}`,
        `"note":"${word}"`,
        `It broke: ${word}`,
        `They said ${word}`,
        ...[accountId, key.id, named.character.username, named.privateCharacter.username, named.request],
        ...tasksOf(named),
        ...recordingsOf(named),
      ])
        expect(text.includes(mark), mark).toBe(true)
    }
  })
})

describe("an operator's key gives no access to a customer's data", () => {
  test.each(takingKeys)('%s', async (id, operation) => {
    const [account] = accounts
    if (account === undefined) throw new Error('no account')
    const before = await wholeRecordOf(gateway)
    for (const asked of rowOf(id).own(account))
      expectRefused(await send(operation, asked, operator.text), 'access_denied')
    expect(await wholeRecordOf(gateway)).toEqual(before)
  })
})

/** The requests that a key must be refused for whatever they name. */
const askedOf = (id: string, account: PlantedAccount, owner: PlantedAccount): Asked[] => {
  if (account === owner) return rowOf(id).own(account)
  const { others } = rowOf(id)
  return typeof others === 'string' ? [] : others(owner.named)
}

describe('a key may call exactly the operations that name one of its scopes', () => {
  const sets: KeyScope[][] = [...keyScopes.map((scope) => [scope]), ['create', 'read'], ['read', 'account']]
  let scoped: { scopes: KeyScope[]; text: string }[]
  beforeAll(async () => {
    const keyOf = async (scopes: KeyScope[]) => {
      const { text } = await createKey(gateway.database.postgres, accounts[0]?.accountId ?? '', { scopes })
      return { scopes, text }
    }
    scoped = await Promise.all(sets.map(keyOf))
  })

  test.each(takingKeys)('%s', async (id, operation) => {
    const [account, owner] = accounts
    if (account === undefined || owner === undefined) throw new Error('no account')
    const needed: readonly string[] = operation.access === 'key' ? operation.scopes : []
    const mayCall = ({ scopes }: { scopes: KeyScope[] }) => scopes.some((scope) => needed.includes(scope))
    const before = await wholeRecordOf(gateway)
    for (const { scopes, text } of scoped.filter((each) => !mayCall(each))) {
      for (const asked of [...askedOf(id, account, account), ...askedOf(id, account, owner)]) {
        const answer = await send(operation, asked, text)
        expectRefused(answer, 'insufficient_scope')
        for (const scope of [...needed, ...scopes]) expect(answer.text).toContain(`\`${scope}\``)
      }
    }
    expect(await wholeRecordOf(gateway)).toEqual(before)
    for (const { text } of scoped.filter(mayCall)) {
      for (const asked of askedOf(id, account, owner))
        expect((await send(operation, asked, text)).text).not.toContain('insufficient_scope')
      const [asked] = askedOf(id, account, account)
      // What the account deleted in the test of its own things is gone.
      if (asked !== undefined) expect([200, 404]).toContain((await send(operation, asked, text)).status)
    }
  })
})

test("a repeat is recognised by its own account's name for it alone", async () => {
  const name = randomBytes(8).toString('hex')
  const ids = await Promise.all(
    accounts.map(async ({ key }) => {
      const response = await fetch(`${gateway.url}/v1/videos`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
          ...{ 'idempotency-key': name },
        },
        body: JSON.stringify(videoOrder),
      })
      expect(response.status).toBe(200)
      return ((await response.json()) as { id: string }).id
    }),
  )
  expect(new Set(ids).size).toBe(accounts.length)
})

describe('fields of a body beyond the contract are neither stored nor returned', () => {
  const ofEndpoint = (body: object): Asked => ({
    path: { id: accounts[0]?.named.endpoint ?? '' },
    body,
  })
  let link = ''
  beforeAll(async () => {
    const { text } = await send(
      operations.createConsoleLink,
      { body: { keys: [accounts[0]?.key.text] } },
      undefined,
    )
    link = /#link=([\w-]+)/.exec(text)?.[1] ?? ''
  })
  const orders: Record<string, () => Asked> = {
    createVideo: () => ({ body: videoOrder }),
    createVideoTask: () => ({ body: taskOrder }),
    remixVideo: () => ({ path: { id: accounts[0]?.named.completed ?? '' }, body: { prompt: 'At night' } }),
    editVideo: () => ({ body: { prompt: 'At night', video: { id: accounts[0]?.named.completed } } }),
    createCharacter: () => ({ body: { from_task: accounts[0]?.named.completed, timestamps: '3,4' } }),
    renameCharacter: () => ({
      path: { id: accounts[0]?.named.character.id ?? '' },
      body: { username: accounts[0]?.named.character.username },
    }),
    rotateWebhookSecret: () => ({ body: {} }),
    createConsoleSession: () => ({ body: { keys: [accounts[0]?.key.text] } }),
    createConsoleLink: () => ({ body: { keys: [accounts[0]?.key.text] } }),
    checkConsoleLink: () => ({ body: { link } }),
    completeChat: () => ({ body: talkOrder }),
    createSpeech: () => ({ body: speechOrder }),
    createTranscription: () => ({ body: recordingOrder() }),
    createTranslation: () => ({ body: recordingOrder() }),
    createTranscriptionTask: () => ({ body: recordingOrder() }),
    updateOwnAccount: () => ({ body: {} }),
    createAccountKey: () => ({ body: {} }),
    updateAccountKey: () => ({ path: { id: accounts[0]?.spare.keys[0] ?? '' }, body: {} }),
    rotateAccountKey: () => ({ path: { id: accounts[0]?.spare.keys[0] ?? '' }, body: {} }),
    createWebhookEndpoint: () => ({ body: endpointOrder }),
    updateWebhookEndpoint: () => ofEndpoint({}),
    postWebhookEndpoint: () => ofEndpoint({}),
    rotateWebhookEndpointSecret: () => ofEndpoint({}),
    testWebhookEndpoint: () => ofEndpoint({}),
    redeliverWebhookEndpoint: () => ofEndpoint({ since: 1 }),
  }
  const withBody = all.filter(([, { body }]) => body !== undefined)
  const namesAtOnce = 40
  const filled = (body: object | undefined, names: string[], word: string): object => {
    if (!(body instanceof FormData))
      return { ...Object.fromEntries(names.map((name) => [name, word])), ...body }
    for (const name of names) body.append(name, word)
    return body
  }

  test.each(withBody)('%s', async (id, operation) => {
    const order = orders[id]
    if (order === undefined) throw new Error(`Add ${id} to 'orders': a body that it takes.`)
    const word = `z${randomBytes(8).toString('hex')}`
    const schemas = [...(operation.body?.json ?? []), ...(operation.body?.form ?? [])]
    const known = schemas.flatMap((schema) =>
      Object.keys((schema as { properties?: object }).properties ?? {}),
    )
    // `n` other than 1 is rejected, and so is a misspelt webhook.
    const rejected = ['n', 'webhook']
    const strange = (await columnsOf(gateway)).filter((name) => ![...known, ...rejected].includes(name))
    for (let at = 0; at < strange.length; at += namesAtOnce) {
      const asked = order()
      const body = filled(asked.body, strange.slice(at, at + namesAtOnce), word)
      const { status, text, headers } = await send(operation, { ...asked, body }, accounts[0]?.key.text)
      expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' })
      expect(`${JSON.stringify(Object.fromEntries(headers))}${text}`).not.toContain(word)
      expect(headers.get('x-ignored-params')).not.toBeNull()
    }
    expect(await tablesWith(gateway, word)).toEqual([])
  })
})
