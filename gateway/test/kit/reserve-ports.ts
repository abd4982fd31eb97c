/** Reserves ports for one test on this machine, across checkouts. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { choosePorts } from '../../../cli/src/dev/free-port.ts'

const reservations = join(tmpdir(), 'kinora-test-ports')

const reserved = new Set<string>()
process.once('exit', () => {
  for (const file of reserved) rmSync(file, { force: true })
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** One file per port names the process that owns it. The file of a dead process does not count. */
const reserve = (port: number): boolean => {
  const file = join(reservations, String(port))
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
  } catch {
    if (isAlive(Number(readFileSync(file, 'utf8')))) return false
    writeFileSync(file, String(process.pid))
  }
  reserved.add(file)
  return true
}

/** Reserves a free port for each name. Without the files, two tests could get the same port before either listens. */
export const reservePorts = async <Name extends string>(
  directory: string,
  names: readonly Name[],
): Promise<Record<Name, number>> => {
  mkdirSync(reservations, { recursive: true })
  for (;;) {
    const chosen = await choosePorts(join(directory, `ports-${randomUUID()}.json`), names)
    if (names.every((name) => reserve(chosen[name]))) return chosen
  }
}

const devPorts = ['postgres', 'ingress', 'admin', 'node', 'worker', 'local'] as const

/**
 * Reserves the ports of a `kinora dev` that a test starts, and returns that of its API. `dev` keeps the ports that its data
 * directory names, so no other test gets one of them while it is down.
 */
export const reserveDevPorts = async (directory: string, dataDirectory: string): Promise<number> => {
  const { port, ...ports } = await reservePorts(directory, ['port', ...devPorts])
  mkdirSync(dataDirectory, { recursive: true })
  writeFileSync(join(dataDirectory, 'ports.json'), JSON.stringify(ports))
  return port
}
