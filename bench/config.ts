/** What a large configuration costs: a reload, a request, and processes without work. */
import { setTimeout as wait } from 'node:timers/promises'

import { parse } from 'yaml'

import { createLog } from '../gateway/src/platform/log.ts'
import { createConfigFileReader } from '../gateway/src/provider-config/config-file.ts'
import type { ProviderConfig } from '../gateway/src/provider-config/config.ts'
import { createLiveConfig } from '../gateway/src/provider-config/live-config.ts'
import { writeModelRecord } from '../gateway/src/provider-config/provider-config-store.ts'
import { referenceModels } from '../gateway/src/provider-config/reference-models.ts'
import { protocols as allProtocols } from '../gateway/src/providers/registry.ts'
import { ask, form } from '../gateway/test/kit/answers.ts'
import { createDatabase } from '../gateway/test/kit/database.ts'
import { configFile, type ConfigSize } from '../gateway/test/kit/large-config.ts'
import { manyRequests, startStack, type Stack } from '../gateway/test/kit/stack.ts'
import { withoutIntervals } from '../gateway/test/kit/without-intervals.ts'
import { cpuMsOf } from './measure/cpu-time.ts'

const baseUrl = 'https://vendor.example/v1'
const { local } = allProtocols
const protocols = {
  ...allProtocols,
  ...(local && { local: { ...local, defaultBaseUrl: 'http://127.0.0.1:9' } }),
}

/** Processor time of this process, in milliseconds. */
const cpuMs = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Times of reloading a file and the records of the admin API, in milliseconds of processor time. */
export const measureReload = async (size: ConfigSize): Promise<Record<string, number>> => {
  const read = createConfigFileReader()
  const reload = (text: string) => () =>
    read('providers.yaml', { protocols, models: referenceModels, environment: {}, readText: () => text })
  const text = configFile(size, { baseUrl })
  const figures: Record<string, number> = {
    'YAML parser': await cpuMs(() => parse(text)),
    'first read': await cpuMs(reload(text)),
  }
  // Twice, because the code is compiled meanwhile.
  for (const price of [1_001, 1_002]) {
    figures['one model changed'] = await cpuMs(reload(configFile(size, { baseUrl, price })))
  }
  figures['all models changed'] = await cpuMs(reload(configFile(size, { baseUrl, note: ' again' })))

  await using database = await createDatabase()
  const { postgres } = database
  const models = Object.entries((parse(text) as { models: Record<string, Record<string, unknown>> }).models)
  await postgres.query('insert into model_configs (model, settings) select key, value from jsonb_each($1)', [
    JSON.stringify(Object.fromEntries(models)),
  ])
  const fileConfig = reload(configFile({ ...size, models: 4 }, { baseUrl }))()
  const liveConfig = await withoutIntervals(() =>
    createLiveConfig({
      ...{ postgres, credentialSecrets: [], protocols },
      readRoutingConfig: () => fileConfig,
      log: createLog({ level: 'silent' }, 'bench'),
      fileIntervalMs: 3_600_000,
    }),
  )
  figures['records unchanged'] = await cpuMs(liveConfig.refresh)
  const [id, settings] = models.at(-1) ?? ['', {}]
  await writeModelRecord(postgres, id, { ...settings, description: 'changed' })
  figures['one record changed'] = await cpuMs(liveConfig.refresh)
  if (liveConfig.current().models[id]?.description !== 'changed') throw new Error('the change was not read')
  await liveConfig.stop()
  return figures
}

const operations: Record<string, (stack: Stack) => Promise<unknown>> = {
  'create a video': (stack) =>
    ask(`${stack.url}/v1/videos`, stack.key, {
      method: 'POST',
      body: form({ model: 'model-0', prompt: 'a lighthouse', seconds: '4', size: '1280x720' }),
    }),
  'read a video': async (stack) => ask(`${stack.url}/v1/videos/${await firstTask(stack)}`, stack.key),
  'make speech': async ({ url, key }) => {
    const response = await fetch(`${url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'model-2', input: 'Hello there.', voice: 'alloy' }),
    })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`speech failed with ${response.status}`)
  },
}

const tasks = new WeakMap<Stack, string>()
const firstTask = async (stack: Stack): Promise<string> => {
  const id =
    tasks.get(stack) ??
    (await stack.create('a lighthouse', { model: 'model-0', seconds: '4', size: '1280x720' }))
  tasks.set(stack, id)
  return id
}

const startSized = (size: ConfigSize): Promise<Stack> =>
  startStack({
    routingConfig: ({ url }) => {
      const config = parse(configFile(size, { baseUrl: url })) as {
        providers: Record<string, ProviderConfig>
        models: Record<string, object>
      }
      return config
    },
    environment: { ...manyRequests, LOG_LEVEL: 'warn' },
  })

/** Processor time per request of the API process, in milliseconds. The two configurations take turns. */
export const measureRequests = async (
  sizes: { small: ConfigSize; large: ConfigSize },
  { rounds, requests, idleMs }: { rounds: number; requests: number; idleMs: number },
) => {
  await using small = await startSized(sizes.small)
  await using large = await startSized(sizes.large)
  const idleOf = async (stack: Stack) => {
    const pids = { api: stack.api.pid(), worker: stack.workers[0]?.pid(), restate: stack.engine.pid() }
    const used = () => Object.values(pids).map(cpuMsOf)
    const before = used()
    await wait(idleMs)
    const after = used()
    return Object.fromEntries(
      Object.keys(pids).map((name, index) => [name, ((after[index] ?? 0) - (before[index] ?? 0)) / idleMs]),
    )
  }
  // Measured together, so that both have the same machine.
  const idle = await Promise.all([idleOf(small), idleOf(large)])
  const figures: Record<string, { small: number[]; large: number[] }> = {}
  const run = async (stack: Stack, send: (stack: Stack) => Promise<unknown>) => {
    const before = cpuMsOf(stack.api.pid())
    for (let sent = 0; sent < requests; sent += 4) {
      await Promise.all(Array.from({ length: Math.min(4, requests - sent) }, () => send(stack)))
    }
    return (cpuMsOf(stack.api.pid()) - before) / requests
  }
  for (const [name, send] of Object.entries(operations)) {
    const found = { small: [] as number[], large: [] as number[] }
    for (const stack of [small, large]) await run(stack, send)
    for (let round = 0; round < rounds; round += 1) {
      const arms = [
        { stack: small, values: found.small },
        { stack: large, values: found.large },
      ]
      for (const { stack, values } of round % 2 === 0 ? arms : arms.toReversed()) {
        values.push(await run(stack, send))
      }
    }
    figures[name] = found
  }
  return { figures, idle }
}
