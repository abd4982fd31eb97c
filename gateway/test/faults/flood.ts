/**
 * Creates tasks at a fixed rate without retries, in a process of its own; sends the outcome to its parent and ends. It
 * writes bytes to sockets itself, because it should use as little CPU time as possible on the machine of the service.
 */
import { connect, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

import { headersOf, type Customer } from './retrying.ts'

export interface FloodOrder {
  origins: string[]
  customers: Customer[]
  models: string[]
  /** Prompts are this text and a number. */
  prefix: string
  perSecond: number
  durationMs: number
}

export interface FloodResult {
  sent: number
  /** How often each status was received; 0 stands for no response. */
  statuses: Record<string, number>
  accepted: { prompt: string; taskId: string; tookMs: number }[]
  /** How late this process itself was, at the 99th percentile, which is part of the times above. */
  lateMs: number
}

process.on('disconnect', () => process.exit())

const underWayMax = 1_000
const responseMsMax = 30_000
const headEnd = '\r\n\r\n'

interface Response {
  status: number
  body: string
}

/** Connections that are kept open; each carries one request at a time. */
const createConnections = (origin: string) => {
  const { hostname, port, host } = new URL(origin)
  const idle: Socket[] = []
  const post = (path: string, headers: Record<string, string>, body: string): Promise<Response> =>
    new Promise((resolve) => {
      let socket = idle.pop()
      // The server closes connections after many requests.
      while (socket?.writable === false) socket = idle.pop()
      socket ??= connect({ host: hostname, port: Number(port), noDelay: true })
      const used = socket
      let text = ''
      const end = (response: Response) => {
        clearTimeout(timer)
        used.removeAllListeners()
        // A connection may fail while it is idle.
        used.on('error', () => used.destroy())
        if (response.status === 0 || /^connection: close\r$/im.test(text)) used.destroy()
        else idle.push(used)
        resolve(response)
      }
      const fail = () => end({ status: 0, body: '' })
      const timer = setTimeout(fail, responseMsMax)
      used.on('error', fail).on('close', fail)
      used.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
        const at = text.indexOf(headEnd)
        if (at === -1) return
        const length = Number(/^content-length: (\d+)\r$/im.exec(text)?.[1])
        const received = text.slice(at + headEnd.length)
        if (received.length >= length) end({ status: Number(text.slice(9, 12)), body: received })
      })
      const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body)) })
      used.write(
        `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
      )
    })
  return { post }
}

const flood = async ({ origins, customers, models, prefix, perSecond, durationMs }: FloodOrder) => {
  const result: FloodResult = { sent: 0, statuses: {}, accepted: [], lateMs: 0 }
  const connections = origins.map(createConnections)
  const underWay = new Set<Promise<void>>()
  const createOne = async (index: number) => {
    const prompt = `${prefix}${index}`
    const customer = customers[index % customers.length]
    const sender = connections[index % connections.length]
    if (customer === undefined || sender === undefined) return
    const sentMs = performance.now()
    const { status, body } = await sender.post(
      '/v1/videos',
      { ...headersOf(customer), 'content-type': 'application/json' },
      JSON.stringify({ model: models[index % models.length], prompt, seconds: 4, size: '480x480' }),
    )
    const tookMs = performance.now() - sentMs
    result.statuses[status] = (result.statuses[status] ?? 0) + 1
    if (status === 200)
      result.accepted.push({ prompt, taskId: (JSON.parse(body) as { id: string }).id, tookMs })
  }
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  const startedMs = performance.now()
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - startedMs) {
    const due = (elapsedMs / 1_000) * perSecond
    for (; result.sent < due && underWay.size < underWayMax; result.sent += 1) {
      const created: Promise<void> = createOne(result.sent).finally(() => underWay.delete(created))
      underWay.add(created)
    }
    await sleep(5)
  }
  await Promise.all(underWay)
  return { ...result, lateMs: delays.percentile(99) / 1e6 }
}

process.once('message', (order) => {
  void flood(order as FloodOrder).then((result) => {
    process.send?.(result, () => process.exit())
  })
})
