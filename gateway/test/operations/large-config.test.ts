/**
 * The cost of a request does not depend on the number of models and providers. Work is counted and not timed: each read of
 * a setting of a model counts.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { loadConfig, type Config } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import type { ConfiguredModel } from '../../src/provider-config/config.ts'
import { wireApi } from '../../src/wiring/api.ts'
import { ask, form } from '../kit/answers.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { configFile, largeConfig, smallConfig, type ConfigSize } from '../kit/large-config.ts'
import { testEnvironment } from '../kit/start-gateway.ts'

let vendor: Vendor
let directory: string
let database: TestDatabase
let rich: string
let poor: string
let limited: string

beforeAll(async () => {
  vendor = await startVendor({ apiKey: 'vendor-key-of-tests', durationMs: 300 })
  directory = await mkdtemp(join(tmpdir(), 'kinora-large-'))
  database = await createDatabase()
  const { postgres } = database
  const accountId = await createAccount(postgres, { balance: 100_000 })
  rich = (await createKey(postgres, accountId)).text
  limited = (await createKey(postgres, accountId, { models: ['model-0'] })).text
  poor = (await createKey(postgres, await createAccount(postgres, { balance: 0 }))).text
})
afterAll(async () => {
  await vendor.close()
  await database[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

/** Counts the reads of settings of models in the configuration. */
const counting = (config: Config) => {
  let reads = 0
  const counted = (model: ConfiguredModel) =>
    new Proxy(model, {
      get: (target, name) => {
        reads += 1
        return Reflect.get(target, name) as unknown
      },
    })
  const readRoutingConfig: Config['readRoutingConfig'] = (readText) => {
    const file = config.readRoutingConfig(readText)
    const models = Object.entries(file.models).map(([id, model]) => [id, counted(model)])
    return { ...file, models: Object.fromEntries(models) as typeof file.models }
  }
  return { config: { ...config, readRoutingConfig }, reads: () => reads }
}

const startCounted = async (size: ConfigSize) => {
  const file = join(directory, `${size.models}.yaml`)
  await writeFile(file, configFile(size, { baseUrl: vendor.url }))
  const loaded = loadConfig({
    ...testEnvironment(database.url, directory),
    REDIS_URL: inject('redisUrl'),
    PROVIDERS_FILE: file,
  })
  const { config, reads } = counting(loaded)
  const { app, close } = await wireApi(config, createLog({ level: 'silent' }, 'api'))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, reads, [Symbol.asyncDispose]: close }
}

const video = { model: 'model-0', prompt: 'a lighthouse', seconds: '4', size: '1280x720' }

const create = (url: string, key: string, fields: Record<string, string> = video) =>
  ask(`${url}/v1/videos`, key, { method: 'POST', body: form(fields) })

const speak = async (url: string) => {
  const response = await fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rich}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'model-2', input: 'Hello there.', voice: 'alloy' }),
  })
  await response.arrayBuffer()
  return response
}

interface Request {
  status: number
  send: (url: string) => Promise<{ status: number }>
}

const requests = (taskId: string): Record<string, Request> => ({
  'create a video': { status: 200, send: (url) => create(url, rich) },
  'create a video with an alias': {
    status: 200,
    send: (url) => create(url, rich, { ...video, model: 'alias-0' }),
  },
  'create a video with a key for one model': { status: 200, send: (url) => create(url, limited) },
  'create a video without money': {
    status: 402,
    send: (url) => create(url, poor, { ...video, prompt: 'a'.repeat(100_000) }),
  },
  'create a video of an unknown model': {
    status: 404,
    send: (url) => create(url, rich, { ...video, model: 'clip-7' }),
  },
  'read a video': { status: 200, send: (url) => ask(`${url}/v1/videos/${taskId}`, rich) },
  'read a model': { status: 200, send: (url) => ask(`${url}/v1/models/model-2`, rich) },
  'make speech': { status: 200, send: speak },
})

test('a request reads as many settings of models with 2,000 models and 50 providers as with 4 and 2', async () => {
  await using small = await startCounted(smallConfig)
  await using large = await startCounted(largeConfig)
  const readsOf = async ({ url, reads }: typeof small, { send, status }: Request) => {
    const counts: number[] = []
    // The first request can derive what later ones use.
    for (let round = 0; round < 4; round += 1) {
      const before = reads()
      const answer = await send(url)
      expect(answer.status).toBe(status)
      counts.push(reads() - before)
    }
    return Math.min(...counts.slice(1))
  }
  const { body } = await create(small.url, rich)
  for (const [name, request] of Object.entries(requests(String(body['id'])))) {
    const [few, many] = [await readsOf(small, request), await readsOf(large, request)]
    expect({ name, reads: many }).toEqual({ name, reads: few })
  }
})
