import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, inject, test } from 'vitest'

import { startVendor } from '../../../dev/vendor/vendor.ts'
import { ask } from '../kit/answers.ts'
import { createDatabase } from '../kit/database.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { roleProcess } from '../kit/role-process.ts'
import { testEnvironment } from '../kit/start-gateway.ts'

const rounds = 150
/**
 * Relative to the vendor alone plus a request to the gateway that reads the database, so that a slow or busy machine affects
 * both sides.
 */
const ratioMax = 3
/** Only checked on an idle machine, as in `npm run prove:speech`. */
const addedMsMax = process.env['SPEECH_ADDED_MS']

const order = JSON.stringify({
  model: 'chat-4o-mini-tts-2025-12-15',
  input: 'A short word vendor:chunks=4 vendor:pace=0',
  voice: 'alloy',
  response_format: 'pcm',
})

/** The time to the first byte of audio. The rest is read before the promise resolves. */
const firstByteMs = (agent: Agent, url: string, key: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedMs = performance.now()
    let tookMs: number | undefined
    const speaking = request(`${url}/v1/audio/speech`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(order),
      },
    })
    speaking.on('error', reject).on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`unexpected status ${response.statusCode}`))
      response
        .on('data', () => {
          tookMs ??= performance.now() - startedMs
        })
        .on('end', () => resolve(tookMs ?? Number.NaN))
    })
    speaking.end(order)
  })

const at = (times: number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN

test('the gateway adds little to the first byte of a speech', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-speech-'))
  const vendor = await startVendor()
  await using database = await createDatabase()
  const ports = await reservePorts(directory, ['api'])
  const file = join(directory, 'providers.yaml')
  const provider = { kind: 'openai', baseUrl: vendor.url, apiKey: 'any' }
  await writeFile(file, JSON.stringify({ providers: { vendor: provider } }))
  const environment = {
    ...testEnvironment(database.url, directory),
    PORT: String(ports.api),
    REDIS_URL: inject('redisUrl'),
    PROVIDERS_FILE: file,
    LOG_LEVEL: 'warn',
  }
  const api = roleProcess('api', environment, join(directory, 'api.log'))
  await api.start()
  const key = await createKey(database.postgres, await createAccount(database.postgres))
  const agent = new Agent({ keepAlive: true })
  const direct = () => firstByteMs(agent, vendor.url, 'any')
  const through = () => firstByteMs(agent, `http://127.0.0.1:${ports.api}`, key.text)

  const alone = async () => {
    const startedMs = performance.now()
    await ask(`http://127.0.0.1:${ports.api}/v1/videos?limit=1`, key.text)
    return performance.now() - startedMs
  }

  // After a warm-up the measurements alternate, so that other load on the machine affects all of them.
  for (let round = 0; round < 30; round += 1) await Promise.all([alone(), through()])
  const times = { direct: [] as number[], alone: [] as number[], through: [] as number[] }
  const added = () => at(times.through, 0.5) - at(times.direct, 0.5)
  // On a busy machine most requests wait for a processor, but not the fastest quarter.
  const ratio = () => at(times.through, 0.25) / (at(times.direct, 0.25) + at(times.alone, 0.25))
  const isLittle = () => ratio() < ratioMax && (addedMsMax === undefined || added() < Number(addedMsMax))
  // A short load peak affects some rounds, but not three times as many.
  while (times.direct.length < rounds || (!isLittle() && times.direct.length < 3 * rounds)) {
    times.direct.push(await direct())
    times.alone.push(await alone())
    times.through.push(await through())
  }
  const shown = (all: number[]) => `p50 ${at(all, 0.5).toFixed(2)} ms, p95 ${at(all, 0.95).toFixed(2)} ms`
  console.log(`first byte from the vendor: ${shown(times.direct)}; through: ${shown(times.through)}`)
  console.log(
    `added: ${added().toFixed(2)} ms at p50 of ${times.direct.length}, ` +
      `at p25 ${ratio().toFixed(2)} times the vendor and a list of videos (${shown(times.alone)})`,
  )

  agent.destroy()
  await api.stop()
  await vendor.close()
  await rm(directory, { recursive: true, force: true })
  expect(isLittle()).toBe(true)
})
