/** What create and read cost, against an API that only writes or reads one row. */
import { reservePorts } from '../gateway/test/kit/reserve-ports.ts'
import { startBaseline } from './baselines/start-baseline.ts'
import { createVideoOf, measureLoad, readVideosOf, startBenchStack } from './bench-stack.ts'
import { cpuMsOf, cpuMsOfFamily } from './measure/cpu-time.ts'
import { runLoad, type RequestOf } from './measure/load.ts'
import { measureInTurns, type Rounds } from './measure/rounds.ts'

type Arm = 'kinora' | 'bare'

export interface RequestFigures {
  create: Rounds<Arm>
  /** Of 1,000 tasks that have not ended, as one client would poll them. */
  read: Rounds<Arm>
  /** The same with the ETag of the last response. */
  'read unchanged': Rounds<Arm>
}

const polledTasks = 1_000

export const measureRequests = async ({
  rounds,
  ms,
}: {
  rounds: number
  ms: number
}): Promise<RequestFigures> => {
  await using bench = await startBenchStack()
  const { stack, keys, origin, cpu } = bench
  const [first] = keys
  const { bare: port } = await reservePorts(stack.directory, ['bare'])
  using bare = await startBaseline('bare-api', [String(port), stack.postgres.url])
  const bareOrigin = `http://127.0.0.1:${port}`
  const cpuOfBare = () => ({ api: cpuMsOf(bare.pid), postgres: cpuMsOfFamily(stack.postgres.pid()) })

  const armsOf = (ours: RequestOf, theirs: RequestOf) => ({
    kinora: async () => (await measureLoad(cpu, origin, ours, { until: { ms } })).figures,
    bare: async () => (await measureLoad(cpuOfBare, bareOrigin, theirs, { until: { ms } })).figures,
  })
  const createSome = async (at: string) => {
    const ids: string[] = []
    const create = createVideoOf(keys.slice(0, 1))
    await runLoad(at, create, {
      until: { count: polledTasks },
      onBody: (text) => ids.push((JSON.parse(text) as { id: string }).id),
    })
    return ids
  }

  // Only the requests are measured here, not the work that they lead to.
  await stack.workers[0].kill()
  const create = createVideoOf(keys)
  const created = await measureInTurns(armsOf(create, create), rounds)
  const ours = await createSome(origin)
  const theirs = await createSome(bareOrigin)
  const read = await measureInTurns(armsOf(readVideosOf(ours, first), readVideosOf(theirs, first)), rounds)
  const [one = ''] = ours
  const { headers } = await fetch(`${origin}/v1/videos/${encodeURIComponent(one)}`, {
    headers: { authorization: `Bearer ${first?.text}` },
  })
  const known = { 'if-none-match': headers.get('etag') ?? '' }
  const unchanged = await measureInTurns(
    armsOf(readVideosOf([one], first, known), readVideosOf(theirs.slice(0, 1), first)),
    rounds,
  )
  return { create: created, read, 'read unchanged': unchanged }
}
