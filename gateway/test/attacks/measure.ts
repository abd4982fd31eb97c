/** The resources of a process as the system reports them: memory, descriptors, children, connections, spooled files. */
import { readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { residentMib } from '../kit/resident-memory.ts'

export interface Usage {
  residentMib: number
  descriptors: number
  /** Of the spool directory. */
  spooledBytes: number
}

export interface Spool {
  files: number
  bytes: number
}

export const readSpool = async (directory: string): Promise<Spool> => {
  const names = await readdir(directory)
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        // A file may be deleted while it is listed.
        () => 0,
      ),
    ),
  )
  return { files: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

export const countDescriptors = async (pid: number): Promise<number> =>
  (await readdir(`/proc/${pid}/fd`)).length

export const countChildren = async (pid: number): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`)
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  return lists.join(' ').split(/\s+/).filter(Boolean).length
}

const timeWait = '06'

/** An IPv4 address as the kernel writes it: hexadecimal, the last byte first. */
const kernelAddress = (address: string) =>
  address
    .split('.')
    .toReversed()
    .map((byte) => Number(byte).toString(16).padStart(2, '0').toUpperCase())
    .join('')

/** How many connections the port still has from the address. */
export const countConnections = async (port: number, address: string): Promise<number> => {
  const local = `${kernelAddress('127.0.0.1')}:${port.toString(16).padStart(4, '0').toUpperCase()}`
  const remote = `${kernelAddress(address)}:`
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n')
  return lines.filter((line) => {
    const [, at, from = '', state] = line.trim().split(/\s+/)
    return at === local && from.startsWith(remote) && state !== timeWait
  }).length
}

export const readUsage = async (pid: number, spoolDirectory: string): Promise<Usage> => {
  const [resident, descriptors, spool] = await Promise.all([
    residentMib(pid),
    countDescriptors(pid),
    readSpool(spoolDirectory),
  ])
  return { residentMib: resident, descriptors, spooledBytes: spool.bytes }
}

const everyMs = 50

/** Samples the usage until the signal aborts or the process ends; returns the maximum of each value. */
export const watchUsage = async (
  pid: number,
  spoolDirectory: string,
  signal: AbortSignal,
  onReading: (usage: Usage) => void,
): Promise<Usage> => {
  const most: Usage = { residentMib: 0, descriptors: 0, spooledBytes: 0 }
  while (!signal.aborted) {
    const usage = await readUsage(pid, spoolDirectory).catch(() => undefined)
    if (usage === undefined) break
    for (const name of Object.keys(most) as (keyof Usage)[]) most[name] = Math.max(most[name], usage[name])
    onReading(usage)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  return most
}

const readProcessorTimes = () => {
  const [, ...times] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '').split(/\s+/)
  const all = times.slice(0, 8).map(Number)
  const total = all.reduce((sum, time) => sum + time, 0)
  // The fourth and the fifth value are idle time and time of waiting for a disk, the eighth is what the host withheld.
  return { total, idle: (all[3] ?? 0) + (all[4] ?? 0), withheld: all[7] ?? 0 }
}

/** Returns a function that gives the share of CPU time used on this machine since now. */
export const startBusyShare = (): (() => number) => {
  const before = readProcessorTimes()
  return () => {
    const after = readProcessorTimes()
    return 1 - (after.idle - before.idle) / Math.max(1, after.total - before.total)
  }
}

/** Returns a function that gives the share of the CPU time requested since now that the host of this machine withheld. */
export const startWithheldShare = (): (() => number) => {
  const before = readProcessorTimes()
  return () => {
    const after = readProcessorTimes()
    const wanted = after.total - before.total - (after.idle - before.idle)
    return Math.min(0.9, (after.withheld - before.withheld) / Math.max(1, wanted))
  }
}
