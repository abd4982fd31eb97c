/** Prometheus, scraping the processes of a stack every second. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { parse, stringify } from 'yaml'

interface Point {
  labels: Record<string, string>
  /** NaN where there is no number. */
  values: number[]
}

interface Answer {
  points: Point[]
  milliseconds: number
}

export interface Prometheus extends AsyncDisposable {
  /** A query at one time, now unless given. */
  query: (expression: string, atSeconds?: number) => Promise<Answer>
  /** A query for each second of a time. */
  queryRange: (expression: string, fromSeconds: number, toSeconds: number) => Promise<Answer>
  /** The values of a label in the series that a selector matches. */
  valuesOf: (label: string, selector: string) => Promise<string[]>
  targets: () => Promise<{ job: string; health: string; lastError: string }[]>
}

interface Options {
  directory: string
  port: number
  /** The address of each process by the name of its job. */
  targets: Record<string, string[]>
  rulePaths: string[]
}

interface Sample {
  metric: Record<string, string>
  value?: [number, string]
  values?: [number, string][]
}

/** Evaluates every rule each second, whatever its group says, because nobody waits here for hours. */
const copyRules = async (directory: string, paths: string[]): Promise<string[]> => {
  const copies: string[] = []
  for (const path of paths) {
    const { groups = [] } = parse(await readFile(path, 'utf8')) as { groups?: object[] }
    const copy = join(directory, basename(path))
    await writeFile(copy, stringify({ groups: groups.map((group) => ({ ...group, interval: '1s' })) }))
    copies.push(copy)
  }
  return copies
}

export const startPrometheus = async ({
  directory: parent,
  port,
  targets,
  rulePaths,
}: Options): Promise<Prometheus> => {
  const directory = join(parent, 'prometheus')
  await mkdir(directory)
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: await copyRules(directory, rulePaths),
    scrape_configs: Object.entries(targets).map(([job_name, addresses]) => ({
      job_name,
      static_configs: [{ targets: addresses }],
    })),
  }
  const file = join(directory, 'prometheus.yml')
  await writeFile(file, stringify(config))
  const url = `http://127.0.0.1:${port}`
  const log = join(parent, 'logs', 'prometheus.log')
  const output = openSync(log, 'a')
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', output, output] },
  )
  closeSync(output)
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`Prometheus exited with ${code}; see ${log}`)))
  })
  failed.catch(() => undefined)
  const isReady = async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true
  const untilReady = async () => {
    while (!(await isReady())) await wait(100)
  }
  await Promise.race([untilReady(), failed])

  const ask = async (path: string, parameters: Record<string, string>) => {
    const startedMs = performance.now()
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`)
    const body = (await response.json()) as { status: string; error?: string; data?: unknown }
    if (body.status !== 'success') throw new Error(`${parameters['query'] ?? path}: ${body.error}`)
    return { data: body.data, milliseconds: performance.now() - startedMs }
  }
  const run = async (path: string, parameters: Record<string, string>): Promise<Answer> => {
    const { data, milliseconds } = await ask(path, parameters)
    const { result } = data as { result: Sample[] }
    return {
      milliseconds,
      points: result.map(({ metric, value, values }) => ({
        labels: metric,
        values: (values ?? (value === undefined ? [] : [value])).map(([, text]) => Number(text)),
      })),
    }
  }
  return {
    query: (query, atSeconds) =>
      run('query', { query, ...(atSeconds !== undefined && { time: String(atSeconds) }) }),
    queryRange: (query, from, to) =>
      run('query_range', { query, start: String(from), end: String(to), step: '1s' }),
    valuesOf: async (label, selector) =>
      (await ask(`label/${label}/values`, { 'match[]': selector })).data as string[],
    targets: async () => {
      const { data } = await ask('targets', {})
      const { activeTargets } = data as {
        activeTargets: { labels: { job: string }; health: string; lastError: string }[]
      }
      return activeTargets
        .map(({ labels, health, lastError }) => ({ job: labels.job, health, lastError }))
        .toSorted((one, other) => one.job.localeCompare(other.job))
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
