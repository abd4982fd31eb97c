/**
 * Words that customers write are found where they should be, and nowhere after their tasks were deleted, their retention is over, or
 * their account was erased: in a dump of the database, in the media directory or bucket, in the spool, in the logs of all processes
 * and of PostgreSQL, and in the data of the engine. `npm run prove:privacy`.
 */
import { randomInt } from 'node:crypto'

import { expect, test } from 'vitest'

import { ask, askJson, pixelBytes } from '../kit/answers.ts'
import { startLoggedStack, type LoggedStack } from '../kit/logged-stack.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { spoken } from '../kit/recording.ts'
import { audioForm } from '../kit/sound.ts'
import { minutes } from '../kit/time-limits.ts'

const isLong = process.env['PLANTED_VIDEOS'] !== undefined
const videosPerCustomer = Number(process.env['PLANTED_VIDEOS'] ?? 1)
const wordsPerPrompt = 15
const letters = 14
/** Longer than every retention. */
const retentionDays = 40

/** Where a customer writes a word. */
type Kind =
  | 'prompt'
  | 'metadata'
  | 'image'
  | 'file name'
  | 'request id'
  | 'idempotency key'
  | 'user agent'
  | 'recording'
  | 'prompt of a recording'
  | 'transcript'
  | 'character'
  | 'account'
  | 'key'
  | 'payment'
  | 'refused request'

/** Names are kept until the account is erased, and characters until the customer deletes them. */
const names: Kind[] = ['account', 'key', 'payment']
const kept = {
  'their deletion': [...names, 'user agent'],
  'the end of their retention': [...names, 'character'],
  'the erasure of the account': [],
} satisfies Record<string, Kind[]>

type Words = Map<Kind, string[]>

const createWords = () => {
  const words: Words = new Map()
  return {
    words,
    plant: (kind: Kind): string => {
      const word = Array.from({ length: letters }, () => String.fromCodePoint(97 + randomInt(26))).join('')
      words.set(kind, [...(words.get(kind) ?? []), word])
      return word
    },
  }
}

/** How many words of each kind each place has. A dump has bytes as hexadecimal digits. */
const countFound = async (
  stack: LoggedStack,
  words: Words,
): Promise<{ place: string; kind: Kind; found: number }[]> => {
  const has = (contents: Buffer[], word: string) =>
    contents.some((content) => content.includes(word) || content.includes(Buffer.from(word).toString('hex')))
  return Object.entries(await stack.readPlaces()).flatMap(([place, contents]) =>
    [...words].flatMap(([kind, each]) => {
      const found = each.filter((word) => has(contents, word)).length
      return found === 0 ? [] : { place, kind, found }
    }),
  )
}

/** A recording with a comment, as programs write it. */
const withComment = (wave: Buffer, text: string): Buffer => {
  const chunk = Buffer.from(`LIST\0\0\0\0INFOICMT\0\0\0\0${text}`)
  chunk.writeUInt32LE(chunk.length - 8, 4)
  chunk.writeUInt32LE(text.length, 16)
  const commented = Buffer.concat([wave, chunk])
  commented.writeUInt32LE(commented.length - 8, 4)
  return commented
}

/**
 * A customer who writes words wherever the service takes them. The transcript of the vendor differs with the length of the recording.
 */
const createCustomer = async ({ url, until }: LoggedStack, operator: Operator, recordedSeconds: number) => {
  const { words, plant } = createWords()
  const account = await operator.call('createAccount', { body: { name: `The ${plant('account')} company` } })
  const accountId = String(account.id)
  await operator.call('createTopUp', {
    id: accountId,
    body: { amount_micros: 1e9, reason: `Paid by ${plant('payment')}`, reference: plant('payment') },
  })
  const { secret: key } = await operator.call('createKey', {
    id: accountId,
    body: { kind: 'payg', name: plant('key') },
  })
  const headers = () => ({
    authorization: `Bearer ${key}`,
    'user-agent': plant('user agent'),
    // What has the form of an id is logged, and this has not.
    'x-client-request-id': `a note with ${plant('request id')}`,
    // Stores the response, with the prompt and the metadata, for a repetition. The key itself is stored as a hash.
    'idempotency-key': `the order ${plant('idempotency key')}`,
  })
  const createVideo = (prompt: string, write = plant) => {
    const body = new FormData()
    const order = { model: 'vidB-2', prompt, seconds: '4', size: '480x480' }
    for (const [name, value] of Object.entries(order)) body.append(name, value)
    for (let n = 0; n < 4; n += 1) body.append(`metadata[key${n}]`, write('metadata'))
    const image = new Blob([pixelBytes, write('image')], { type: 'image/png' })
    body.append('input_reference', image, `${write('file name')}.png`)
    return fetch(`${url}/v1/videos`, { method: 'POST', headers: headers(), body })
  }
  const videoIds: string[] = []
  const tasksPath = `${url}/v1/audio/transcription-tasks`
  let recordingPath = ''
  let characterPath = ''
  return {
    accountId,
    words,
    createVideo,
    plant,
    create: async () => {
      for (let index = 0; index < videosPerCustomer; index += 1) {
        const created = await createVideo(
          Array.from({ length: wordsPerPrompt }, () => plant('prompt')).join(' '),
        )
        expect(created.status).toBe(200)
        videoIds.push(((await created.json()) as { id: string }).id)
      }
      const recording = withComment(
        spoken(recordedSeconds, [{ atSeconds: 2, seconds: 2 }]),
        plant('recording'),
      )
      const fields = { model: 'asr-1', prompt: plant('prompt of a recording') }
      const body = audioForm(recording, fields, `${plant('file name')}.wav`)
      const answer = await ask(tasksPath, key, { method: 'POST', headers: headers(), body })
      recordingPath = `${tasksPath}/${String(answer.body['id'])}`
    },
    complete: async () => {
      for (const id of videoIds)
        await until(
          `${id} is completed`,
          async () => (await ask(`${url}/v1/videos/${id}`, key)).body['status'] === 'completed',
        )
      const readTranscript = () => ask(`${recordingPath}/transcript`, key)
      await until('it is transcribed', async () => (await readTranscript()).status === 200)
      words.set('transcript', [String((await readTranscript()).body['text'])])
      const path = `${url}/vidB/v1/characters`
      const { body } = await askJson(path, key, { from_task: videoIds[0], timestamps: '0.5,1.5' })
      characterPath = `${path}/${String(body['id'])}`
      const renamed = await ask(characterPath, key, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: plant('character') }),
      })
      expect(renamed.status).toBe(200)
    },
    deleteAll: async () => {
      const videoPaths = videoIds.map((id) => `${url}/v1/videos/${id}`)
      for (const path of [...videoPaths, recordingPath, characterPath])
        expect((await ask(path, key, { method: 'DELETE' })).status).toBe(200)
    },
  }
}

type Customer = Awaited<ReturnType<typeof createCustomer>>

const merge = (customers: Customer[]): Words => {
  const merged: Words = new Map()
  for (const { words } of customers)
    for (const [kind, each] of words) merged.set(kind, [...(merged.get(kind) ?? []), ...each])
  return merged
}

const restartWorker = async ({ workers: [worker] }: LoggedStack, between?: () => Promise<void>) => {
  await worker?.stop()
  await between?.()
  await worker?.start()
}

/** The database refuses a row, and may not quote it. */
const refuseRow = async (stack: LoggedStack, { createVideo, plant }: Customer) => {
  const { postgres } = stack.database
  await postgres.query(
    `alter table video_tasks add constraint refused check (video_order ->> 'prompt' not like 'Refused %') not valid`,
  )
  const write = () => plant('refused request')
  const answer = await createVideo(`Refused ${write()}`, write)
  expect(answer.status).toBe(500)
  await postgres.query('alter table video_tasks drop constraint refused')
}

const isErased = async (stack: LoggedStack, { accountId }: Customer) => {
  const { rows } = await stack.database.postgres.query(
    `select from erasures e where account_id = $1 and emptied_at is not null
        and not exists (select from file_removals r where r.account_id = e.account_id)`,
    [accountId],
  )
  return rows.length === 1
}

const hasExpired = async (stack: LoggedStack, { accountId }: Customer) => {
  const { rows } = await stack.database.postgres.query<{ count: number }>(
    `select (select count(*) from video_tasks where account_id = $1)
          + (select count(*) from transcription_tasks where account_id = $1)
          + (select count(*) from request_log where account_id = $1)
          + (select count(*) from file_removals where account_id = $1) as count`,
    [accountId],
  )
  return rows[0]?.count === 0
}

// The whole service is started, and its worker twice more.
test.each(isLong ? (['directory', 'bucket'] as const) : (['directory'] as const))(
  'with media in a %s, words of customers are stored, and after their deletion they are nowhere',
  { timeout: minutes(10) },
  async (store) => {
    await using stack = await startLoggedStack(store)
    const operator = await createOperator(stack)
    const deleting = await createCustomer(stack, operator, 20)
    const expiring = await createCustomer(stack, operator, 22)
    const erased = await createCustomer(stack, operator, 24)
    const customers = [deleting, expiring, erased]

    // While the worker stands still, images and recordings are stored.
    const worker = stack.workers[0]?.pid() ?? 0
    process.kill(worker, 'SIGSTOP')
    for (const { create } of customers) await create()
    const inProgress = await countFound(stack, merge(customers))
    process.kill(worker, 'SIGCONT')
    await refuseRow(stack, deleting)
    for (const { complete } of customers) await complete()
    const words = merge(customers)
    const completed = await countFound(stack, words)

    const all = (kind: Kind, place: string) => ({ place, kind, found: words.get(kind)?.length })
    const inDatabase: Kind[] = [...names, 'prompt', 'metadata', 'prompt of a recording', 'user agent']
    expect(inProgress).toEqual(expect.arrayContaining([all('image', 'media'), all('recording', 'media')]))
    expect(completed).toEqual(
      expect.arrayContaining(
        [...inDatabase, 'transcript' as const, 'character' as const].map((kind) => all(kind, 'database')),
      ),
    )
    const elsewhere = [...inProgress, ...completed].filter(
      ({ place }) => !['database', 'media'].includes(place),
    )
    expect(elsewhere).toEqual([])

    const ways: { way: keyof typeof kept; customer: Customer; act: () => Promise<void> }[] = [
      { way: 'their deletion', customer: deleting, act: deleting.deleteAll },
      {
        way: 'the erasure of the account',
        customer: erased,
        act: async () => {
          await operator.call('eraseAccount', { id: erased.accountId })
          await restartWorker(stack)
          await stack.until('the account is erased', () => isErased(stack, erased))
        },
      },
      {
        way: 'the end of their retention',
        customer: expiring,
        act: async () => {
          await restartWorker(stack, () => stack.advance(retentionDays))
          await stack.until('the content has expired', () => hasExpired(stack, expiring))
        },
      },
    ]
    const report: object[] = []
    for (const { way, customer, act } of ways) {
      await act()
      const found = await countFound(stack, customer.words)
      const expected = kept[way].map((kind) => ({
        ...{ place: 'database', kind },
        found: customer.words.get(kind)?.length,
      }))
      report.push({ after: way, found })
      expect({ way, found: found.toSorted(byKind) }).toEqual({ way, found: expected.toSorted(byKind) })
    }
    if (isLong) {
      const counts = [...words].map(([kind, each]) => `${kind}: ${each.length}`).join(', ')
      const lines = [{ inProgress }, { completed }, ...report].map((line) => JSON.stringify(line))
      process.stdout.write(`${counts}\n${lines.join('\n')}\n`)
    }
    const [log = Buffer.alloc(0)] = (await stack.readPlaces())['log of PostgreSQL'] ?? []
    for (const text of ['insert into video_tasks', 'violates check constraint "refused"'])
      expect({ text, isLogged: log.includes(text) }).toEqual({ text, isLogged: true })
  },
)

const byKind = (one: { kind: Kind }, other: { kind: Kind }) => one.kind.localeCompare(other.kind)
