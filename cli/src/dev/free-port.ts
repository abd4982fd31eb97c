import { randomInt } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// Below the range the kernel hands to outgoing connections, so that a remembered port is not taken by one.
const firstPort = 20_000
const lastPort = 31_999

interface ChoosePortsOptions {
  /** How long a remembered port that is still busy is waited for: a run just killed may not be gone yet. */
  patienceMs?: number
}

/**
 * One free port on 127.0.0.1 for each name, the same as last time where it still is free: the engine keeps the
 * address of the worker, so addresses should not change from one start to the next.
 */
export async function choosePorts<Name extends string>(
  file: string,
  names: readonly Name[],
  { patienceMs = 2_000 }: ChoosePortsOptions = {},
): Promise<Record<Name, number>> {
  const remembered = await readRemembered(file)
  const kept = await Promise.all(
    names.map(async (name) => {
      const port = remembered[name]
      return port !== undefined && (await becomesFree(port, patienceMs)) ? port : undefined
    }),
  )
  const taken = new Set<number>(Object.values(remembered))
  const chosen: Record<string, number> = {}
  for (const [index, name] of names.entries()) {
    const port = kept[index] ?? (await findFree(taken))
    taken.add(port)
    chosen[name] = port
  }
  const all = { ...remembered, ...chosen }
  if (names.some((name) => remembered[name] !== chosen[name])) await remember(file, all)
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

async function findFree(taken: ReadonlySet<number>): Promise<number> {
  const count = lastPort - firstPort + 1
  const start = randomInt(count)
  for (let offset = 0; offset < count; offset += 1) {
    const port = firstPort + ((start + offset) % count)
    if (!taken.has(port) && (await isFree(port))) return port
  }
  throw new Error(`no free TCP port on 127.0.0.1 between ${firstPort} and ${lastPort}`)
}

async function readRemembered(file: string): Promise<Record<string, number>> {
  let parsed: unknown
  try {
    parsed = JSON.parse(await readFile(file, 'utf8'))
  } catch {
    // Nothing remembered, or a file cut short: fresh ports do no harm.
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

async function remember(file: string, ports: Record<string, number>): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const unfinished = `${file}.${process.pid}`
  await writeFile(unfinished, `${JSON.stringify(ports, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
}
