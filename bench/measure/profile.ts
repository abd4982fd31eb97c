/** Profiles of the roles, on demand: `npm run bench -- --profile`. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const profileDirectory = (): string | undefined => process.env['BENCH_PROFILE']

/** The environment in which a role writes a profile when it ends. */
export const profileIn = (directory: string | undefined): Record<string, string> =>
  directory === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${directory}` }

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** `node:internal/…`, the package below `node_modules`, or the file. */
const ownerOf = (url: string): string => {
  if (url === '') return '(native)'
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/')
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
  return name ?? url.replace(/^.*?\/(?=(?:gateway|contract|cli|sandbox)\/)/, '')
}

const shareOf = (parts: Map<string, number>, sum: number, count: number) =>
  [...parts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, time]) => `  ${((100 * time) / sum).toFixed(1).padStart(5)} %  ${name}`)

/** The owners and functions with the most time of their own, without idle time. */
const summaryOf = ({ nodes, samples, timeDeltas }: CpuProfile): string => {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const byOwner = new Map<string, number>()
  const byFunction = new Map<string, number>()
  let sum = 0
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id)
    if (frame === undefined || /^\((?:idle|program|root)\)$/.test(frame.functionName)) continue
    const time = timeDeltas[index] ?? 0
    const owner = ownerOf(frame.url)
    const name = `${frame.functionName || '(anonymous)'} ${owner}:${frame.lineNumber + 1}`
    sum += time
    byOwner.set(owner, (byOwner.get(owner) ?? 0) + time)
    byFunction.set(name, (byFunction.get(name) ?? 0) + time)
  }
  return [
    `${(sum / 1e6).toFixed(1)} s`,
    ' by owner',
    ...shareOf(byOwner, sum, 30),
    ' by function',
    ...shareOf(byFunction, sum, 40),
  ].join('\n')
}

/** Summarizes every profile of a directory. */
export const summarizeProfiles = async (directory: string): Promise<string> => {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile')).toSorted()
  const texts = await Promise.all(
    files.map(async (name) => {
      const profile = JSON.parse(await readFile(join(directory, name), 'utf8')) as CpuProfile
      return `${name}: ${summaryOf(profile)}`
    }),
  )
  return texts.join('\n\n')
}
