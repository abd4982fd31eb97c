/** Only models with a route are offered, so that nobody pays a vendor's price for media of the built-in provider. */
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let database: TestDatabase
let key: string
let operator: string

beforeAll(async () => {
  database = await createDatabase()
  const accountId = await createAccount(database.postgres, { balance: 10_000_000 })
  key = (await createKey(database.postgres, accountId)).text
  operator = (await createKey(database.postgres, accountId, { kind: 'admin' })).text
})
afterAll(() => database[Symbol.asyncDispose]())

const here = { kind: 'local' }
const acme = { kind: 'openai', baseUrl: 'http://127.0.0.1:9', apiKey: 'sk-none' }

interface Started extends TestGateway {
  write: (config: object) => Promise<void>
}

const start = async (config: object | undefined, environment = {}): Promise<Started> => {
  const folder = await mkdtempDisposable(join(tmpdir(), 'kinora-offered-'))
  const file = join(folder.path, 'providers.yaml')
  const write = (content: object) => writeFile(file, JSON.stringify(content))
  if (config !== undefined) await write(config)
  const gateway = await startGateway(
    {
      OFFER_MODELS_WITHOUT_ROUTES: 'false',
      ...(config !== undefined && { PROVIDERS_FILE: file }),
      ...environment,
    },
    { database, directory: folder.path },
  )
  return {
    ...gateway,
    write,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]()
      await folder.remove()
    },
  }
}

const offered = async ({ url }: TestGateway) => {
  const { body } = await ask(`${url}/v1/models`, key)
  return (body['data'] as { id: string }[]).map(({ id }) => id)
}

test('a model without a route is neither listed nor found, and routes to any provider offer it', async () => {
  await using gateway = await start({
    providers: { here, acme },
    models: { 'vidB-2': { routes: [{ provider: 'acme', model: 'acme-2' }] }, vidA3: { provider: 'here' } },
  })
  expect(await offered(gateway)).toEqual(['vidA3', 'vidB-2'])
  expectProblem(await ask(`${gateway.url}/v1/models/vidA2`, key), 'model_not_found', 'model')
  const order = { prompt: 'a quiet harbour', seconds: '4', size: '480x480' }
  const create = (model: string) => askJson(`${gateway.url}/v1/videos?dry_run=true`, key, { ...order, model })
  expectProblem(await create('vidB-2-pro'), 'model_not_found', 'model')
  expect((await create('vidB-2')).status).toBe(200)
  const speech = { model: 'chat-4o-mini-tts-2025-12-15', voice: 'nova', input: 'Hello' }
  expectProblem(await askJson(`${gateway.url}/v1/audio/speech`, key, speech), 'model_not_found', 'model')
})

test('an operator sets the route of a model that is not offered, which offers it', async () => {
  await using gateway = await start({ providers: { here, acme } })
  expect(await offered(gateway)).toEqual([])
  const routes = `${gateway.url}/admin/v1/models/vidA2/routes`
  expect((await ask(routes, operator)).body).toMatchObject({ routes: [{ provider: 'here' }] })
  const set = await ask(routes, operator, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ routes: [{ provider: 'here' }] }),
  })
  expect(set.status).toBe(200)
  await expect.poll(() => offered(gateway)).toEqual(['vidA2'])
  await ask(routes, operator, { method: 'DELETE' })
  await expect.poll(() => offered(gateway)).toEqual([])
})

test('a route in the file offers a model without a restart', async () => {
  await using gateway = await start({ providers: { here } })
  expect(await offered(gateway)).toEqual([])
  await gateway.write({ providers: { here }, models: { vidA3: { provider: 'here' } } })
  await expect.poll(() => offered(gateway)).toEqual(['vidA3'])
})

test('without a file no model is offered, unless a setting says so', async () => {
  await using without = await start(undefined)
  expect(await offered(without)).toEqual([])
  await using all = await start(undefined, { OFFER_MODELS_WITHOUT_ROUTES: 'true' })
  expect(await offered(all)).toContain('vidA2')
})

test('a vendor that is the first provider serves the models without routes, if it can', async () => {
  await using gateway = await start({
    providers: { acme: { ...acme, kind: 'fal', baseUrl: undefined }, here },
  })
  const ids = await offered(gateway)
  expect(ids).toContain('vidA2')
  // fal makes no speech, so the built-in provider would.
  expect(ids).not.toContain('chat-4o-mini-tts-2025-12-15')
})
