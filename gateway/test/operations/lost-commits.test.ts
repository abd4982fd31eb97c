/** Creates whose connection to the database is lost while they commit: the reply to the commit never arrives. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem, form, pixel, type Answer } from '../kit/answers.ts'
import { completeTask } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { createSpender, paygBalanceOf } from '../kit/spender.ts'
import { startGateway, startProxy, type TestGateway, type TestProxy } from '../kit/start-gateway.ts'
import { listKeys } from '../kit/stored-media.ts'

let gateway: TestGateway
let film: Buffer

beforeAll(async () => {
  gateway = await startGateway()
  film = await makeVideo(gateway.directory)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const spender = () => createSpender(gateway.database.postgres, 1_000)
type Spender = Awaited<ReturnType<typeof spender>>

const order = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }
const sourceOf = async ({ account, text }: Spender): Promise<string> => {
  const { body } = await ask(`${gateway.url}/v1/videos`, text, { method: 'POST', body: form(order) })
  const id = String(body['id'])
  await completeTask(gateway, account, id, { bytes: film })
  return id
}

interface Create {
  path: string
  body: (who: Spender) => Promise<FormData>
  statement: string
  table: string
  /** Where its files go, and how many there are. */
  folder: string
  count: number
}
const creates: [string, Create][] = [
  [
    'a transcription task',
    {
      path: '/v1/audio/transcription-tasks',
      body: async () => audioForm(wave(1), { model: 'asr-1' }),
      statement: 'insert into transcription_tasks',
      table: 'transcription_tasks',
      folder: 'recordings',
      count: 1,
    },
  ],
  [
    'a video with an image',
    {
      path: '/v1/videos',
      body: async () => form({ ...order, input_reference: pixel }),
      statement: 'insert into video_tasks',
      table: 'video_tasks',
      folder: 'references',
      count: 1,
    },
  ],
  [
    'a video with its own character',
    {
      path: '/v1/videos',
      body: async (who) => form({ ...order, character_from_task: await sourceOf(who) }),
      statement: 'insert into video_tasks',
      table: 'video_tasks',
      folder: 'characters',
      count: 2,
    },
  ],
]

const filesIn = async (folder: string) => (await listKeys(gateway.mediaStore, folder)).length
const rowsOf = async (table: string, account: string) => {
  const { rows } = await gateway.database.postgres.query<{ id: string }>(
    `select id from ${table} where account_id = $1 order by created_at, id`,
    [account],
  )
  return rows.map(({ id }) => id)
}

/** Sends a create through a gateway whose commit is lost. */
const sendLosing = async (
  { path, body, statement }: Create,
  who: Spender,
  isCommitted: boolean,
  whenLost: (proxy: TestProxy) => Promise<void> = async () => undefined,
): Promise<Answer> => {
  const sent = await body(who)
  await using proxy = await startProxy(gateway.database.url)
  await using behind = await startGateway({ DATABASE_URL: proxy.url }, gateway)
  const lost = proxy.loseCommitOf(statement, isCommitted).then(() => whenLost(proxy))
  const answer = await ask(`${behind.url}${path}`, who.text, { method: 'POST', body: sent })
  await lost
  return answer
}

const expectSound = async () => expect(await brokenInvariants(gateway.database.postgres)).toEqual([])

describe.each(creates)('%s', (_, create) => {
  test('that was committed gets its response, and retains its files', async () => {
    const who = await spender()
    const files = await filesIn(create.folder)
    const answer = await sendLosing(create, who, true)
    expect(answer.status).toBe(200)
    expect(await rowsOf(create.table, who.account)).toContain(answer.body['id'])
    expect(await filesIn(create.folder)).toBe(files + create.count)
    await expectSound()
  })

  test('that was committed retains its files if its outcome cannot be found out', async () => {
    const who = await spender()
    const files = await filesIn(create.folder)
    const made = create.folder === 'characters' ? 2 : 1
    const answer = await sendLosing(create, who, true, (proxy) => proxy.cut())
    expectProblem(answer, 'service_unavailable')
    expect(await rowsOf(create.table, who.account)).toHaveLength(made)
    expect(await filesIn(create.folder)).toBe(files + create.count)
    await expectSound()
  })

  test('that was not committed is refused, charges nothing, and leaves its files to retention', async () => {
    const who = await spender()
    const files = await filesIn(create.folder)
    const answer = await sendLosing(create, who, false)
    expectProblem(answer, 'service_unavailable')
    const made = create.folder === 'characters' ? 1 : 0
    expect(await rowsOf(create.table, who.account)).toHaveLength(made)
    expect(await filesIn(create.folder)).toBe(files + create.count)
    await expectSound()
  })

  test('that is refused before the commit leaves no files', async () => {
    const who = await spender()
    const sent = await create.body(who)
    const files = await filesIn(create.folder)
    const { postgres } = gateway.database
    const setBalance = (micros: unknown) =>
      postgres.query(`update balances set available_micros = $2 where account_id = $1 and wallet = 'payg'`, [
        who.account,
        micros,
      ])
    const balance = await paygBalanceOf(postgres, who.account)
    await setBalance(0)
    const answer = await ask(`${gateway.url}${create.path}`, who.text, { method: 'POST', body: sent })
    await setBalance(balance?.['available'])
    expectProblem(answer, 'insufficient_balance')
    expect(await filesIn(create.folder)).toBe(files)
  })
})
