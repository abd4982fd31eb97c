/** What open consoles cost the API: each follows the events and asks for what the page of the tasks asks for. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { Kinora } from '@kinora/client'
import { expect, test } from 'vitest'

import { addModel, openAdmin } from '../kit/clients.ts'
import { getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'
import { settle } from '../kit/settle.ts'

/** An account may follow its events with 20 streams. */
const accounts = 5
const consolesPerAccount = 10
const phaseMs = 30_000
const addedPercentMax = 5
const model = 'changing-each-second'

/** Processor time of a process in seconds. */
const readProcessorSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return (user + system) / 100
}

/** The processor time of the API during a phase, in percent of a core. */
const measurePhase = async (pid: number): Promise<number> => {
  const before = { seconds: readProcessorSeconds(pid), ms: performance.now() }
  await sleep(phaseMs)
  const seconds = readProcessorSeconds(pid) - before.seconds
  return (seconds * 100_000) / (performance.now() - before.ms)
}

interface SentRequest {
  atMs: number
  path: string
}

/** The requests of a real page during a phase, without the stream of events. */
const recordRequests = async (key: string): Promise<SentRequest[]> => {
  const { url } = await getSeed()
  const page = await openConsole({ as: 'nobody', path: '/sign-in' })
  await signIn(page.context(), url, [key])
  await page.goto(`${url}/console/tasks`)
  await settle(page)
  const startedMs = performance.now()
  const requests: SentRequest[] = []
  page.on('request', (request) => {
    const path = request.url().slice(url.length)
    const isOfApi = request.url().startsWith(url) && !path.startsWith('/console/assets')
    const isMedia = ['image', 'media'].includes(request.resourceType())
    if (isOfApi && !isMedia && request.method() === 'GET')
      requests.push({ atMs: performance.now() - startedMs, path })
  })
  await sleep(phaseMs)
  await page.context().close()
  return requests.filter(({ path }) => !path.includes('stream=true'))
}

/** Behaves like one page until the signal. */
const runConsole = async (url: string, key: string, requests: SentRequest[], signal: AbortSignal) => {
  const signedIn = await fetch(`${url}/console/v1/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ keys: [key] }),
  })
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  let events = 0
  let answered = 0
  const follow = async () => {
    const response = await fetch(`${url}/v1/events?stream=true`, { headers, signal })
    for await (const chunk of response.body ?? [])
      events += Buffer.from(chunk).toString().split('data: ').length - 1
  }
  const poll = async () => {
    const startedMs = performance.now()
    for (const { atMs, path } of requests) {
      await sleep(Math.max(0, startedMs + atMs - performance.now()), undefined, { signal })
      await (await fetch(url + path, { headers, signal })).arrayBuffer()
      answered += 1
    }
  }
  await Promise.allSettled([follow(), poll()])
  return { events, answered }
}

test('50 open consoles cost the API at most 5 % of a core while a task changes each second', async () => {
  const { url, apiPid, upstreams, rightProviderKey } = await getSeed()
  const admin = await openAdmin()
  await admin.providers.set(model, {
    ...{ kind: 'openai', base_url: upstreams.strict, api_key: rightProviderKey, slots: 10 },
    ...{ poll_interval_ms_min: 250, poll_interval_ms_max: 1_000 },
  })
  await addModel(admin, model, model)
  const keys: string[] = []
  for (let index = 0; index < accounts; index += 1) {
    const account = await admin.accounts.create({ name: `Many consoles ${index}` })
    await admin.accounts.topUp(account.id, { amount_micros: 1_000_000_000, reason: 'First payment' })
    const { secret } = await admin.keys.create(account.id, {
      ...{ kind: 'payg', name: 'First', scopes: ['create', 'read', 'account'] },
    })
    keys.push(secret)
  }
  const clients = keys.map((apiKey) => new Kinora({ baseUrl: url, apiKey }))
  const stopping = new AbortController()
  const change = async () => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const kinora = clients[turn % accounts]
      await kinora?.videos.create({ model, prompt: 'A whale', seconds: 4, size: '480x480' })
      await sleep(1_000)
    }
  }
  const changing = change()
  const requests = await Promise.all(keys.map(recordRequests))
  const without = await measurePhase(apiPid)
  const running = keys.flatMap((key, index) =>
    Array.from({ length: consolesPerAccount }, () =>
      runConsole(url, key, requests[index] ?? [], stopping.signal),
    ),
  )
  // The sign-ins are no part of it.
  await sleep(5_000)
  const withConsoles = await measurePhase(apiPid)
  stopping.abort()
  const ended = await Promise.all(running)
  const eventsMin = Math.min(...ended.map(({ events }) => events))
  await changing
  console.log('open consoles:', {
    recorded: requests.map((each) => each.length),
    eventsMin,
    answered: ended.reduce((sum, { answered }) => sum + answered, 0),
    withoutPercent: Number(without.toFixed(1)),
    withPercent: Number(withConsoles.toFixed(1)),
    addedPercent: Number((withConsoles - without).toFixed(1)),
  })
  expect(eventsMin).toBeGreaterThan(5)
  expect(withConsoles - without).toBeLessThan(addedPercentMax)
})
