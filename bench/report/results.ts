/** The raw figures of the benchmarks, one file each, from which `docs/performance.md` is made. */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'

const directory = new URL('../../docs/performance/', import.meta.url)

export interface Result<Figures> {
  measuredAt: string
  machine: { processors: number; model: string; memoryGib: number; node: string }
  options: Record<string, unknown>
  figures: Figures
}

/** The figures of a short, changed or profiled run are only printed. */
const isWholeRun = () =>
  ['BENCH_SHORT', 'BENCH_OPTIONS', 'BENCH_PROFILE'].every((name) => process.env[name] === undefined)

export const writeResult = async <Figures>(
  name: string,
  options: Record<string, unknown>,
  figures: Figures,
): Promise<void> => {
  if (!isWholeRun()) return
  const [first] = cpus()
  const result: Result<Figures> = {
    measuredAt: new Date().toISOString().slice(0, 10),
    machine: {
      processors: cpus().length,
      model: first?.model.trim() ?? '',
      memoryGib: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    },
    options,
    figures,
  }
  const rounded = JSON.stringify(
    result,
    (_name, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value),
    1,
  )
  await mkdir(directory, { recursive: true })
  await writeFile(new URL(`${name}.json`, directory), `${rounded}\n`)
}

/** Undefined if it was not measured yet. */
export const readResult = <Figures>(name: string): Result<Figures> | undefined => {
  let text
  try {
    text = readFileSync(new URL(`${name}.json`, directory), 'utf8')
  } catch {
    return undefined
  }
  return JSON.parse(text) as Result<Figures>
}
