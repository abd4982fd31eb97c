/** A simulated vendor as a process of its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import type { VendorCounts, VendorFaults } from '../../../dev/vendor/control.ts'
import type { VendorJob } from '../../../dev/vendor/job.ts'
import type { Stall } from '../../../dev/vendor/watch-stalls.ts'
import { lineAt, thisMachine, type Place } from '../cluster/machine-line.ts'
import { createPart, until, type Part } from './part.ts'

export interface VendorPart extends Part {
  url: string
  jobs: () => Promise<VendorJob[]>
  counts: () => Promise<VendorCounts>
  set: (faults: Partial<VendorFaults>) => Promise<void>
  /** Refuses connections for this time, without losing its jobs. */
  closeFor: (forMs: number) => Promise<void>
  /** When its process did not run. */
  stalls: () => Promise<Stall[]>
}

const program = fileURLToPath(new URL('../../../dev/vendor/main.ts', import.meta.url))

export const createVendorPart = (
  name: string,
  {
    port,
    logDirectory,
    arguments: more,
    place = thisMachine,
  }: { port: number; logDirectory: string; arguments: string[]; place?: Place },
): VendorPart => {
  const url = `http://${place.address}:${port}`
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/_vendor/${path}`, { ...init, signal: AbortSignal.timeout(30_000) })
    const text = await response.text()
    if (!response.ok) throw new Error(`the vendor answered ${response.status} to ${path}: ${text}`)
    return JSON.parse(text) as unknown
  }
  const part = createPart({
    name,
    line: lineAt(place, [
      ...([process.execPath, program, '--host', place.address, '--port', String(port)] as const),
      ...more,
    ]),
    environment: { PATH: process.env['PATH'] },
    logDirectory,
    untilReady: () => until(`${name} listens`, async () => (await ask('counts')) !== undefined),
  })
  return {
    ...part,
    url,
    jobs: async () => (await ask('jobs')) as VendorJob[],
    counts: async () => (await ask('counts')) as VendorCounts,
    set: async (faults) => {
      await ask('faults', { method: 'PUT', body: JSON.stringify(faults) })
    },
    closeFor: async (forMs) => {
      await ask('closed', { method: 'PUT', body: JSON.stringify({ forMs }) })
      await sleep(forMs)
      await until(`${name} listens again`, async () => (await ask('counts')) !== undefined)
    },
    stalls: async () => (await ask('stalls')) as Stall[],
  }
}
