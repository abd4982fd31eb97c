/** Sends requests at a fixed rate, whether the ones before have been answered or not. */
import { setTimeout as sleep } from 'node:timers/promises'

import { Pool } from 'undici'

import type { RequestOf } from './load.ts'

export interface SteadyLoad {
  perSecond: number
  count: number
}

export const runSteadily = async (
  origin: string,
  requestOf: RequestOf,
  { perSecond, count }: SteadyLoad,
): Promise<void> => {
  const pool = new Pool(origin, { pipelining: 1 })
  const startedMs = performance.now()
  const send = async (index: number) => {
    const { statusCode, body } = await pool.request(requestOf(index))
    if (statusCode >= 400) throw new Error(`a request failed: ${statusCode} ${await body.text()}`)
    await body.dump({ limit: Number.MAX_SAFE_INTEGER })
  }
  const sent: Promise<void>[] = []
  try {
    for (let index = 0; index < count; index += 1) {
      await sleep(Math.max(0, startedMs + (index * 1000) / perSecond - performance.now()))
      sent.push(send(index))
    }
    await Promise.all(sent)
  } finally {
    await Promise.allSettled(sent)
    await pool.destroy()
  }
}
