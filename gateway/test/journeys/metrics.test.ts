/** What Prometheus and a collector get of the metrics of real processes, and that no caller can add to them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createHostileRequests, type HostileRequest } from '../kit/hostile-requests.ts'
import { startOtlpReceiver, type OtlpReceiver } from '../kit/otlp-receiver.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { scrape, type Scrape } from '../kit/scrape.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'

const roles = ['api', 'worker', 'local'] as const
type Role = (typeof roles)[number]

const speechModel = 'chat-4o-mini-tts-2025-12-15'
const seed = 20_261_119
const hostileRequests = 200

let receiver: OtlpReceiver
let stack: Stack
let ports: Record<Role, number>
let directory: string

const urlOf = (role: Role) => `http://127.0.0.1:${ports[role]}/metrics`
const scrapeOf = (role: Role) => scrape(urlOf(role))

beforeAll(async () => {
  receiver = await startOtlpReceiver()
  directory = await mkdtemp(join(tmpdir(), 'kinora-metrics-'))
  ports = await reservePorts(directory, roles)
  const metricsOf = (role: Role) => ({ METRICS_PORT: String(ports[role]) })
  stack = await startStack({
    routingConfig: ({ url }) => ({
      providers: {
        vendor: {
          ...{ kind: 'openai', baseUrl: url, apiKey: 'vendor-key-of-tests', idempotentSubmits: true },
          ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 2_000, budgetPerDayMicros: 50_000_000 },
        },
      },
      models: {
        'vidB-2': { routes: [{ provider: 'vendor', costs: [{ unit: 'second', micros: 100_000 }] }] },
      },
    }),
    environment: {
      ...manyRequests,
      ...metricsOf('local'),
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_TRACES_SAMPLER_ARG: '0',
    },
    roleEnvironments: { api: metricsOf('api'), worker: metricsOf('worker') },
  })
  await stack.local.start()
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

/** The status of a request whose headers `fetch` would not send. */
const statusOf = (url: string, options: { method?: string; headers?: Record<string, string> }) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(url, options, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })

test.for(roles)('%s serves its metrics on a port of its own, to this machine only', async (role) => {
  const { text, sum } = await scrapeOf(role)
  expect(text).toContain(`service_name="kinora-${role}"`)
  expect(sum('process_uptime_seconds')).toBeGreaterThan(0)
  expect(sum('process_cpu_time_seconds_total')).toBeGreaterThan(0)
  const url = urlOf(role)
  expect(await statusOf(url.replace('/metrics', '/'), {})).toBe(404)
  expect(await statusOf(url, { method: 'POST' })).toBe(405)
  // A page of a stranger, whose name leads to this machine.
  expect(await statusOf(url, { headers: { host: 'metrics.example.com' } })).toBe(421)
  expect(await statusOf(url, { headers: { host: `localhost:${ports[role]}` } })).toBe(200)
  // Another address of this machine, which a socket on all of them would have.
  await expect(fetch(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed')
})

test('the public port has no metrics', async () => {
  expect((await ask(`${stack.url}/metrics`, stack.key)).status).toBe(404)
  expect((await ask(`${stack.url}/metrics`, undefined)).status).toBe(404)
})

/** How much the sum of series has grown. */
const growthOf =
  (before: Scrape, after: Scrape) =>
  (name: string, labels: Record<string, string> = {}) =>
    Number((after.sum(name, labels) - before.sum(name, labels)).toFixed(6))

const untilEnded = async (ids: string[]) => {
  await stack.until('the tasks have ended', async () => {
    const { rowCount } = await stack.database.postgres.query(
      'select from open_tasks where task_id = any($1::text[])',
      [ids],
    )
    return rowCount === 0
  })
}

test('counters move by what has happened', async () => {
  const { postgres } = stack.database
  const limited = await createKey(postgres, await createAccount(postgres, { balance: 100 }), {
    limits: { audio: 1 },
  })
  const before = { api: await scrapeOf('api'), worker: await scrapeOf('worker') }

  const completed = [await stack.create('A whale'), await stack.create('Two whales')]
  const failed = await stack.create('A shark vendor:fail')
  const cancelled = await stack.create('A squid vendor:duration=3600000')
  await untilEnded([...completed, failed])
  expect(
    (await ask(`${stack.url}/v1/videos/${cancelled}/cancel`, stack.key, { method: 'POST' })).status,
  ).toBe(200)
  const speak = async (key: string) => {
    const response = await fetch(`${stack.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: speechModel, input: 'Hello there.', voice: 'alloy' }),
    })
    return { status: response.status, bytes: (await response.arrayBuffer()).byteLength }
  }
  expect((await speak(limited.text)).status).toBe(200)
  expect((await speak(limited.text)).status).toBe(429)
  const transcribed = await ask(`${stack.url}/v1/audio/transcriptions`, stack.key, {
    method: 'POST',
    body: audioForm(wave(1), { model: 'asr-1' }),
  })
  expect(transcribed.status).toBe(200)
  // Charges are written after the responses.
  await stack.until('the requests are charged', async () => {
    const { rowCount } = await postgres.query(`select from metered_requests where outcome = 'open'`)
    return rowCount === 0
  })

  const api = growthOf(before.api, await scrapeOf('api'))
  const worker = growthOf(before.worker, await scrapeOf('worker'))
  const requests = 'http_server_request_duration_seconds_count'
  expect(api(requests, { operation: 'createVideo', http_response_status_code: '200' })).toBe(4)
  expect(api(requests, { operation: 'cancelVideo' })).toBe(1)
  expect(api(requests, { operation: 'createSpeech', http_response_status_code: '200' })).toBe(1)
  expect(api(requests, { operation: 'createSpeech', error_type: 'rate_limit_exceeded' })).toBe(1)
  expect(api('kinora_admission_rejections_total')).toBe(1)
  expect(api('kinora_admission_rejections_total', { reason: 'rate_limit' })).toBe(1)
  expect(api('kinora_tasks_accepted_total', { kind: 'video', model: 'vidB-2' })).toBe(4)
  const ended = 'kinora_tasks_ended_total'
  expect(worker(ended, { outcome: 'completed' })).toBe(2)
  expect(worker(ended, { outcome: 'failed' })).toBe(1)
  expect(api(ended, { outcome: 'cancelled' })).toBe(1)
  expect(worker(ended) + api(ended)).toBe(4)
  expect(worker('kinora_task_stage_duration_seconds_count', { stage: 'store' })).toBe(2)
  const calls = 'gen_ai_client_operation_duration_seconds_count'
  expect(worker(calls, { gen_ai_operation_name: 'video_submit', gen_ai_provider_name: 'vendor' })).toBe(4)
  expect(worker(calls, { gen_ai_operation_name: 'video_download' })).toBe(2)
  expect(api(calls, { gen_ai_operation_name: 'speech', gen_ai_request_model: speechModel })).toBe(1)
  expect(api(calls, { gen_ai_operation_name: 'transcription' })).toBe(1)
  expect(api('gen_ai_client_operation_time_to_first_chunk_seconds_count')).toBe(1)
  expect(worker('kinora_storage_io_bytes_total', { direction: 'write' })).toBeGreaterThan(0)

  const { rows } = await postgres.query<{ movement: string; units: number }>(
    `select movement, (sum(abs(amount_micros)) / 2e6)::double precision as units from ledger_entries
      where movement in ('hold', 'capture', 'release') group by movement`,
  )
  const moved = (movement: string) =>
    api('kinora_money_moved_total', { movement }) + worker('kinora_money_moved_total', { movement })
  expect(rows.map(({ movement }) => movement).toSorted()).toEqual(['capture', 'hold', 'release'])
  for (const { movement, units } of rows) expect([movement, moved(movement)]).toEqual([movement, units])
})

test('a worker reports what a provider with a budget has cost', async () => {
  const { rows } = await stack.database.postgres.query<{ units: number }>(
    `select (sum(cost_micros) / 1e6)::double precision as units from usage_entries where provider = 'vendor'`,
  )
  const [spent] = rows
  expect(spent?.units).toBeGreaterThan(0)
  const provider = { gen_ai_provider_name: 'vendor' }
  await stack.until('it is counted', async () => {
    const { sum } = await scrapeOf('worker')
    return sum('kinora_provider_spend', provider) === spent?.units
  })
  expect((await scrapeOf('worker')).sum('kinora_provider_budget', provider)).toBe(50)
})

const send = async ({ path, ...init }: HostileRequest): Promise<number> => {
  const hasBody = init.body !== undefined && init.method !== 'GET'
  const response = await fetch(`${stack.url}${path}`, {
    ...init,
    body: hasBody ? (init.body ?? null) : null,
    signal: AbortSignal.timeout(60_000),
  })
  await response.arrayBuffer()
  return response.status
}

/** What a worker also records when no caller asks for anything. */
const isOfUpkeep = (series: string) =>
  /^kinora_(?:engine|ledger|batch_size|storage_operation|money_moved|tasks?_|media)|^gen_ai|^v8js/.test(
    series,
  )

test('requests with hostile texts add no series, and leave no text of theirs', async () => {
  const caller = createHostileRequests(stack.key)
  const sendAll = async () => {
    const statuses: string[] = []
    for (const each of caller.requests(hostileRequests, seed))
      statuses.push(`${each.method} ${await send(each)}`)
    return statuses
  }
  const seriesOf = async (role: Role) => (await scrapeOf(role)).series
  const warm = await sendAll()
  // A collection also ends what the requests have begun.
  await untilEnded((await openTasks()).map(({ id }) => id))
  const before = { api: await seriesOf('api'), worker: await seriesOf('worker') }
  expect(await sendAll()).toEqual(warm)
  await untilEnded((await openTasks()).map(({ id }) => id))

  const words = caller.words()
  expect(words.length).toBeGreaterThan(2 * hostileRequests)
  for (const role of ['api', 'worker'] as const) {
    const { series, text } = await scrapeOf(role)
    const added = [...series.keys()].filter((name) => !before[role].has(name))
    expect(role === 'api' ? added : added.filter((name) => !isOfUpkeep(name))).toEqual([])
    const lower = text.toLowerCase()
    expect(words.filter((word) => lower.includes(word))).toEqual([])
  }
})

const openTasks = async () =>
  (await stack.database.postgres.query<{ id: string }>('select task_id as id from open_tasks')).rows

test('what a role has recorded is pushed to a collector, at the latest when it ends', async () => {
  await stack.local.stop()
  await stack.until('its metrics have been received', async () =>
    receiver.metrics().some(({ service }) => service === 'kinora-local'),
  )
  const [pushed] = receiver.metrics().filter(({ service }) => service === 'kinora-local')
  expect(pushed?.names).toContain('process.cpu.time')
  // Prometheus names are for Prometheus.
  expect(pushed?.names.filter((name) => name.includes('_seconds'))).toEqual([])
})
