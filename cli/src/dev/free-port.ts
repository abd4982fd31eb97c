import { randomInt } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// Below the kernel's ephemeral range, so that no outgoing connection uses a stored port.
const firstPort = 20_000
const lastPort = 31_999

interface ChoosePortsOptions {
  /** How long to wait for a stored port that is in use. A killed run may not have ended yet. */
  patienceMs?: number
}

/**
 * Chooses one free port on 127.0.0.1 for each name. Stored ports are reused if they are free, because the engine
 * stores the address of the worker across restarts.
 */
export async function choosePorts<Name extends string>(
  file: string,
  names: readonly Name[],
  { patienceMs = 2_000 }: ChoosePortsOptions = {},
): Promise<Record<Name, number>> {
  const stored = await readStored(file)
  const reused = await Promise.all(
    names.map(async (name) => {
      const port = stored[name]
      return port !== undefined && (await becomesFree(port, patienceMs)) ? port : undefined
    }),
  )
  const used = new Set<number>(Object.values(stored))
  const chosen: Record<string, number> = {}
  for (const [index, name] of names.entries()) {
    const port = reused[index] ?? (await findFree(used))
    used.add(port)
    chosen[name] = port
  }
  const all = { ...stored, ...chosen }
  if (names.some((name) => stored[name] !== chosen[name])) await store(file, all)
  return chosen
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => {
      resolve(false)
    })
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => {
        resolve(true)
      })
    })
  })
}

async function becomesFree(port: number, patienceMs: number): Promise<boolean> {
  const deadline = Date.now() + patienceMs
  while (!(await isFree(port))) {
    if (Date.now() >= deadline) return false
    await sleep(100)
  }
  return true
}

async function findFree(used: ReadonlySet<number>): Promise<number> {
  const count = lastPort - firstPort + 1
  const start = randomInt(count)
  for (let offset = 0; offset < count; offset += 1) {
    const port = firstPort + ((start + offset) % count)
    if (!used.has(port) && (await isFree(port))) return port
  }
  throw new Error(`There is no free TCP port on 127.0.0.1 between ${firstPort} and ${lastPort}.`)
}

async function readStored(file: string): Promise<Record<string, number>> {
  let parsed: unknown
  try {
    parsed = JSON.parse(await readFile(file, 'utf8'))
  } catch {
    // The file is missing or damaged. New ports work as well.
    return {}
  }
  if (typeof parsed !== 'object' || parsed === null) return {}
  const ports: Record<string, number> = {}
  const seen = new Set<number>()
  for (const [name, port] of Object.entries(parsed)) {
    if (!Number.isInteger(port) || port < 1_024 || port > 65_535 || seen.has(port)) continue
    seen.add(port)
    ports[name] = port
  }
  return ports
}

async function store(file: string, ports: Record<string, number>): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const unfinished = `${file}.${process.pid}`
  await writeFile(unfinished, `${JSON.stringify(ports, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
}
