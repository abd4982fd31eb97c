/** What the comparison of the open tasks with the engine costs, with many open tasks and as many runs in the engine. */
import { AllowedHosts } from '../../gateway/src/platform/allowed-hosts.ts'
import { checkEngine, type EngineCheck } from '../../gateway/src/platform/engine/anti-entropy.ts'
import { connectEngine } from '../../gateway/src/platform/engine/restate.ts'
import { runService, type RunCall } from '../../gateway/src/platform/engine/run-service.ts'
import { createRunningSteps } from '../../gateway/src/platform/engine/running-steps.ts'
import { serveEngine } from '../../gateway/src/platform/engine/serve-engine.ts'
import { checkIntervalMs } from '../../gateway/src/platform/engine/supervise-engine.ts'
import { createLog } from '../../gateway/src/platform/log.ts'
import { carriedVideos } from '../../gateway/src/videos/queue/carried-task-store.ts'
import { advanceVideoName, runsPerCall } from '../../gateway/src/videos/video-run.ts'
import { reservePorts } from '../../gateway/test/kit/reserve-ports.ts'
import { startBenchStack, type BenchStack } from '../bench-stack.ts'
import { cpuMsOf, cpuMsOfFamily } from '../measure/cpu-time.ts'
import { minus, per, type Figures } from '../measure/figures.ts'

export interface CheckOptions {
  tasks: number
  /** How many of the tasks have a run, the rest waits at a provider. */
  withRun: number[]
  checks: number
}

export interface CheckFigures {
  tasks: number
  withRun: number
  invocations: number
  /** How often the workers compare, together. */
  intervalMs: number
  /** Milliseconds of processor time of one comparison, by process. */
  cpu: Figures[]
}

const startsAtOnce = 32

const addTasks = async ({ stack }: BenchStack, from: number, to: number): Promise<void> => {
  const client = await stack.postgres.connect({ queryTimeoutMs: 300_000 })
  try {
    await client.query(
      `insert into open_tasks (task_id, day, account_id, key_id, model, seconds, provider, shard, stage, run, accepted_at, not_before,
                               deadline_at, submits, upstream, submitted_at, next_poll_at)
       select 'vidB-2:1760000000-' || lpad(n::text, 14, '0'), '2026-01-01', gen_random_uuid(), gen_random_uuid(), 'vidB-2', 4,
              'repeatable', 0, 'waiting', 1, now(), now(), now() + interval '1 day', 1, '{"id":"video_0123456789abcdef"}', now(),
              now() + interval '1 hour'
         from generate_series($1::int, $2::int - 1) as n`,
      [from, to],
    )
    await client.query('vacuum analyze open_tasks')
  } finally {
    await client.end()
  }
}

export const measureCheck = async ({ tasks, withRun, checks }: CheckOptions): Promise<CheckFigures[]> => {
  await using bench = await startBenchStack({ processes: { apis: 1, workers: 0 } })
  const { stack } = bench
  const log = createLog({ level: 'silent' }, 'bench')
  const engine = connectEngine(
    { ingressUrls: [stack.restate.ingressUrl], adminUrls: [stack.restate.adminUrl] },
    log,
  )
  const steps = createRunningSteps()
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const held = runService(advanceVideoName, steps, () => ended)
  const { held: port } = await reservePorts(stack.directory, ['held'])
  const settings = { host: '127.0.0.1', port, allowedHosts: new AllowedHosts([]), identityKeys: [] }
  const served = await serveEngine([held], steps, settings, log)
  await engine.register(`http://127.0.0.1:${port}`)
  await addTasks(bench, 0, tasks)
  const startRuns = async (count: number) => {
    const rows = await stack.postgres.query<{ taskId: string; run: number }>(
      `with chosen as (select task_id from open_tasks where stage = 'waiting' order by task_id limit $1)
       update open_tasks o set stage = 'storing' from chosen where o.task_id = chosen.task_id
       returning o.task_id as "taskId", o.run::float8 as run`,
      [count],
    )
    const groups = Array.from({ length: Math.ceil(rows.length / runsPerCall) }, (_, index) =>
      rows.slice(index * runsPerCall, (index + 1) * runsPerCall),
    )
    const startNext = async () => {
      for (let group = groups.pop(); group !== undefined; group = groups.pop()) {
        const [first, ...others] = group
        if (first === undefined) return
        const call: RunCall<object> = { ...first, others }
        await engine.start(advanceVideoName, call)
      }
    }
    await Promise.all(Array.from({ length: startsAtOnce }, startNext))
    await stack.postgres.query('vacuum analyze open_tasks')
  }
  try {
    return await stack.withDatabase(async (postgres) => {
      const figures: CheckFigures[] = []
      const compare = (): Promise<EngineCheck> =>
        checkEngine({ engine, loops: async () => [], carried: [carriedVideos(postgres)] })
      const cpu = (): Figures => {
        const { user, system } = process.cpuUsage()
        return {
          worker: (user + system) / 1000,
          postgres: cpuMsOfFamily(stack.postgres.pid()),
          restate: cpuMsOf(stack.restate.pid()),
        }
      }
      let running = 0
      for (const count of withRun) {
        await startRuns(count - running)
        running = count
        // The first one only warms up.
        const { openTasks, invocations, repairs } = await compare()
        if (repairs > 0) throw new Error(`the comparison has repaired ${repairs} differences`)
        const measured: Figures[] = []
        for (let index = 0; index < checks; index += 1) {
          const before = cpu()
          await compare()
          measured.push(per(minus(cpu(), before), 1))
        }
        figures.push({
          ...{ tasks, withRun: count, invocations },
          intervalMs: checkIntervalMs(openTasks),
          cpu: measured,
        })
      }
      return figures
    })
  } finally {
    end()
    await served.close()
    await engine.close()
  }
}
