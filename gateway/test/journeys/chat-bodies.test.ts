/** Many large recordings inside JSON at once must not slow down small reads. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'

import { expect, test } from 'vitest'

import { startBareServer } from '../kit/bare-server.ts'
import type { ChatLoad, SentChat } from '../kit/chat-sender.ts'
import { startProcessorWait } from '../kit/processor-wait.ts'
import { peakDuring, residentMib } from '../kit/resident-memory.ts'
import { startStack } from '../kit/stack.ts'

const concurrency = 8
const recordingBytes = 25_000_000
const readEveryMs = 5
const quietReads = 400
/** Relative to reads on an idle gateway plus reads from a bare server under the same load, on an idle machine. */
const slowdownMax = 5

/** The vendor in a process with low priority, so that it does not compete with the measured code. */
const startVendorProcess = async () => {
  const program = new URL('../../../dev/vendor/main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { url } = JSON.parse(line.toString()) as { url: string }
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

const readOnce = (url: string, key: string, agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedMs = performance.now()
    request(url, { agent, headers: { authorization: `Bearer ${key}` } })
      .on('error', reject)
      .on('response', (response) => {
        response.resume().on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - startedMs)
          else reject(new Error(`a read returned status ${response.statusCode}`))
        })
      })
      .end()
  })

/** Reads from the gateway and from a bare server at a fixed rate, independent of earlier reads, until `isOver`. */
const readUntil = async (
  { url, bareUrl, key, pid }: { url: string; bareUrl: string; key: string; pid: number },
  isOver: (count: number) => boolean,
) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const reads: Promise<number>[] = []
  const bareReads: Promise<number>[] = []
  const reading = () =>
    new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (isOver(reads.length)) {
          clearInterval(timer)
          resolve()
          return
        }
        reads.push(readOnce(url, key, agent))
        bareReads.push(readOnce(bareUrl, key, agent))
      }, readEveryMs)
    })
  const { peakMib } = await peakDuring(pid, reading)
  const [tookMs, bareMs] = await Promise.all([Promise.all(reads), Promise.all(bareReads)])
  agent.destroy()
  return { tookMs, bareMs, peakMib }
}

const figures = (tookMs: number[]) => {
  const sorted = tookMs.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

const sendChats = async (load: ChatLoad): Promise<SentChat[]> => {
  const worker = new Worker(new URL('../kit/chat-sender.ts', import.meta.url), { workerData: load })
  const [sent] = (await once(worker, 'message')) as [SentChat[]]
  return sent
}

test('eight concurrent chats of 33 MB succeed, and small reads stay fast', async () => {
  await using vendor = await startVendorProcess()
  await using bare = await startBareServer()
  await using stack = await startStack({
    workers: 0,
    providerSettings: { baseUrl: vendor.url },
    environment: { LOG_LEVEL: 'warn' },
  })
  const { url, key } = stack
  const pid = stack.api.pid() ?? 0
  const task = `${url}/v1/videos/${await stack.create('A whale')}`
  const load = { url, key, count: concurrency, sizeBytes: recordingBytes }
  const target = { url: task, bareUrl: `http://127.0.0.1:${bare.port}/`, key, pid }
  const quiet = () => readUntil(target, (count) => count >= quietReads)
  // The warm-up excludes code that is compiled on first use.
  await sendChats({ ...load, count: 1 })
  await quiet()

  const idleMib = await residentMib(pid)
  const reads = { quiet: (await quiet()).tookMs, busy: [] as number[], bare: [] as number[] }
  const responses: SentChat[] = []
  let peakMib = 0
  const processorWait = startProcessorWait(pid)
  const slowdown = () =>
    figures(reads.busy).p99 / (figures(reads.quiet).p99 + figures(reads.bare).p99) / processorWait()
  // A short load peak of the machine affects more than 1 % of the reads of one burst, but not of three.
  for (let burst = 0; burst < 3 && !(burst > 0 && slowdown() < slowdownMax); burst += 1) {
    let isSent = false
    const sending = sendChats(load).finally(() => {
      isSent = true
    })
    const during = await readUntil(target, () => isSent)
    responses.push(...(await sending))
    reads.busy.push(...during.tookMs)
    reads.bare.push(...during.bareMs)
    reads.quiet.push(...(await quiet()).tookMs)
    peakMib = Math.max(peakMib, during.peakMib)
  }
  const shown = ({ count, p50, p99, max }: ReturnType<typeof figures>) =>
    `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms of ${count}`
  console.log(`reads without load: ${shown(figures(reads.quiet))}`)
  console.log(`reads during ${responses.length} × 33 MB: ${shown(figures(reads.busy))}`)
  console.log(`reads from a bare server during the load: ${shown(figures(reads.bare))}`)
  console.log(`slowdown ${slowdown().toFixed(2)}, waits for a processor × ${processorWait().toFixed(2)}`)
  console.log(`memory: ${idleMib.toFixed(0)} MiB idle, ${peakMib.toFixed(0)} MiB at most`)

  expect(responses.length % concurrency).toBe(0)
  for (const { status, text } of responses) {
    expect(status).toBe(200)
    expect(text).toMatch(/I heard 25000000 bytes of wav [0-9a-f]{16}/)
  }
  const received = new Set(responses.map(({ text }) => /wav ([0-9a-f]{16})/.exec(text)?.[1]))
  expect(received.size).toBe(responses.length / concurrency)
  expect(slowdown()).toBeLessThan(slowdownMax)
})
