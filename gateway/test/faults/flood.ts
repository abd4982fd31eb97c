/** Creates tasks at a fixed rate without retries, in a process of its own; sends the outcome to its parent and ends. */
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'
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
  accepted: { prompt: string; taskId: string }[]
}

// Real customers have their own machines; here they must not take CPU time from the service.
setPriority(10)
process.on('disconnect', () => process.exit())

const underWayMax = 1_000
const responseMsMax = 30_000
const agent = new Agent({ keepAlive: true, maxSockets: underWayMax })

const post = (url: string, customer: Customer, body: string) =>
  new Promise<{ status: number; text: string }>((resolve) => {
    const failed = () => resolve({ status: 0, text: '' })
    const sent = request(
      url,
      {
        ...{ method: 'POST', agent, signal: AbortSignal.timeout(responseMsMax) },
        headers: { ...headersOf(customer), 'content-type': 'application/json' },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('error', failed).on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    sent.on('error', failed).end(body)
  })

const flood = async ({ origins, customers, models, prefix, perSecond, durationMs }: FloodOrder) => {
  const result: FloodResult = { sent: 0, statuses: {}, accepted: [] }
  const underWay = new Set<Promise<void>>()
  const createOne = async (index: number) => {
    const prompt = `${prefix}${index}`
    const customer = customers[index % customers.length]
    if (customer === undefined) return
    const { status, text } = await post(
      `${origins[index % origins.length]}/v1/videos`,
      customer,
      JSON.stringify({ model: models[index % models.length], prompt, seconds: 4, size: '480x480' }),
    )
    result.statuses[status] = (result.statuses[status] ?? 0) + 1
    if (status === 200) result.accepted.push({ prompt, taskId: (JSON.parse(text) as { id: string }).id })
  }
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
  return result
}

process.once('message', (order) => {
  void flood(order as FloodOrder).then((result) => {
    process.send?.(result, () => process.exit())
  })
})
