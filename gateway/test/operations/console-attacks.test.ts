/** What somebody tries at the console who has less than a valid key, or more than they should get with one. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { createKeyText } from '../../src/auth/key-text.ts'
import { ask, expectProblem } from '../kit/answers.ts'
import { consoleSettings, openBrowser, randomAddress } from '../kit/console-browser.ts'
import { createAccount, createKey, keySecret } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway(consoleSettings)
})
afterAll(() => gateway[Symbol.asyncDispose]())
afterEach(() => {
  vi.restoreAllMocks()
})

const customer = async () => {
  const { postgres } = gateway.database
  return createKey(postgres, await createAccount(postgres))
}
const operatorKey = () => createKey(gateway.database.postgres, '', { kind: 'admin' })

test('no error repeats a secret, whatever is wrong with the body', async () => {
  const secret = createKeyText('payg')
  const keys = [secret, [[secret]], [{ key: secret }], { key: secret }, [secret, secret, secret], [secret, 1]]
  for (const path of ['/console/v1/sessions', '/console/v1/links'])
    for (const body of [...keys.map((each) => ({ keys: each })), { keys: [`${secret}${'x'.repeat(100)}`] }]) {
      const answer = await openBrowser(gateway.url).post(path, body)
      expect(answer.status).toBe(400)
      expect(JSON.stringify(answer.body)).not.toContain(secret.slice(0, 12))
    }
  for (const link of [[secret], { token: secret }, secret.repeat(5)]) {
    const answer = await openBrowser(gateway.url).post('/console/v1/sessions', { link })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).not.toContain(secret.slice(0, 12))
  }
})

test('the end of a key ends its requests and its sessions, while secrets are rotated', async () => {
  await using both = await startGateway(
    { ...consoleSettings, KEY_HASH_SECRETS: `a newer secret for hashing keys in tests,${keySecret}` },
    gateway,
  )
  const { id, text } = await customer()
  const opened = openBrowser(both.url)
  await opened.signIn(text)
  // Nothing in a cache expires, so only the notification can end it.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  const withKey = { headers: { authorization: `Bearer ${text}` } }
  for (const init of [{}, withKey]) expect((await opened.ask('/v1/me', init)).status).toBe(200)
  await gateway.database.postgres.query('update keys set disabled_at = now() where id = $1', [id])
  for (const init of [{}, withKey])
    await expect.poll(async () => (await opened.ask('/v1/me', init)).status).toBe(403)
})

test('of the sign-ins that an address sends at once, eight are checked and the others wait', async () => {
  const { postgres } = gateway.database
  await using own = await startGateway({ ...consoleSettings, DATABASE_CONNECTIONS: '30' }, gateway)
  const { text } = await customer()
  const address = randomAddress()
  const signIn = (key: string, from?: string) =>
    openBrowser(own.url, from === undefined ? {} : { address: from }).signIn(key)
  const answers = await postgres.transaction(async (database) => {
    await database.query('lock table keys in access exclusive mode')
    const countWaiting = async () => {
      const { rows } = await database.query<{ count: number }>(
        `select count(*)::int as count from pg_locks join pg_database d on d.oid = database
          where datname = current_database() and relation = 'keys'::regclass and not granted`,
      )
      return rows[0]?.count
    }
    const sent = Array.from({ length: 20 }, () => signIn(createKeyText('payg'), address))
    await expect.poll(countWaiting).toBeGreaterThanOrEqual(8)
    // Sent after them, so they have arrived when it is answered.
    await ask(`${own.url}/v1/models`, undefined, { headers: { 'x-forwarded-for': address } })
    const other = signIn(text)
    await expect.poll(countWaiting).toBeGreaterThanOrEqual(9)
    expect(await countWaiting()).toBe(9)
    return { sent, other }
  })
  expect((await answers.other).status).toBe(200)
  const statuses = (await Promise.all(answers.sent)).map(({ status }) => status)
  expect(statuses.toSorted((one, two) => one - two)).toEqual([...Array(10).fill(401), ...Array(10).fill(429)])
})

test('a page of plain HTTP at the host of the service is not its own page', async () => {
  await using secure = await startGateway(
    { ...consoleSettings, PUBLIC_URL: 'https://media.example' },
    gateway,
  )
  const { text } = await customer()
  // As a proxy forwards it that ends HTTPS and does not say so.
  const signIn = (origin: string) =>
    ask(`${secure.url}/console/v1/sessions`, undefined, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', origin },
        ...{ 'x-forwarded-host': 'media.example', 'x-forwarded-for': randomAddress() },
      },
      body: JSON.stringify({ keys: [text] }),
    })
  expect((await signIn('https://media.example')).status).toBe(200)
  for (const origin of ['http://media.example', 'https://media.example:444', 'https://MEDIA.example.evil'])
    expectProblem(await signIn(origin), 'access_denied')
})

test('where the admin API is not served, an administrator sees and ends no sessions of others', async () => {
  await using apart = await startGateway({ ...consoleSettings, ADMIN_PORT: '4' }, gateway)
  const victim = openBrowser(apart.url)
  const { body } = await victim.signIn((await customer()).text)
  const { text } = await operatorKey()
  const signIn = async (url: string) => {
    const opened = openBrowser(url, { address: randomAddress() })
    expect((await opened.signIn(text)).status).toBe(200)
    return opened
  }
  const idsIn = async ({ ask: get }: ReturnType<typeof openBrowser>) => {
    const { body: page } = await get('/console/v1/sessions?limit=200')
    return (page['data'] as { id: string }[]).map(({ id }) => id)
  }
  const outside = await signIn(apart.url)
  const inside = await signIn(apart.adminUrl)
  expect(await idsIn(outside)).not.toContain(body['id'])
  const path = `/console/v1/sessions/${String(body['id'])}`
  expect((await outside.ask(path, { method: 'DELETE' })).status).toBe(404)
  expect((await victim.ask('/v1/me')).status).toBe(200)
  expect(await idsIn(inside)).toContain(body['id'])
  expect((await inside.ask(path, { method: 'DELETE' })).status).toBe(200)
})
