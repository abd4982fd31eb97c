/** What it costs to choose the next tasks of long queues, against a statement that reads as many tasks of each key as can start. */
import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createLog } from '../../gateway/src/platform/log.ts'
import { migrate } from '../../gateway/src/platform/migrate.ts'
import { connectPostgres, type Postgres } from '../../gateway/src/platform/postgres.ts'
import { queueDefaults } from '../../gateway/src/videos/queue/queue-limits.ts'
import { choose, lockQueue } from '../../gateway/src/videos/queue/queue-store.ts'
import { createPostgresCluster } from '../../gateway/test/faults/postgres-cluster.ts'
import { chooseByStatement } from '../../gateway/test/kit/choose-by-statement.ts'
import { reservePorts } from '../../gateway/test/kit/reserve-ports.ts'
import { cpuMsOfFamily } from '../measure/cpu-time.ts'
import type { Figures } from '../measure/figures.ts'
import { measureInTurns, type Rounds } from '../measure/rounds.ts'

interface QueueSize {
  keys: number
  tasksPerKey: number
  /** Of each key. */
  inFlight: number
}

export interface ChoosingOptions {
  queues: QueueSize[]
  free: number
  rounds: number
}

type Arm = 'heads' | 'one statement'

export interface ChoosingFigures extends QueueSize {
  choosing: Rounds<Arm>
}

const provider = 'vendor'

/** Every account has one key, and all have queued their tasks in turns. */
const fill = async (postgres: Postgres, { keys, tasksPerKey, inFlight }: QueueSize) => {
  await postgres.query('truncate open_tasks, queue_shares')
  await postgres.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, stage,
                             accepted_at, not_before, deadline_at)
     select md5(k || '/' || n), current_date, md5('account ' || k)::uuid, md5('key ' || k)::uuid, 4, $4, 'any', 0,
            case when n < 0 then 'waiting' else 'accepted' end,
            now() - make_interval(secs => $2::integer - n - k / 1000000.0), now(), now() + interval '1 hour'
       from generate_series(1, $1::integer) k, generate_series(-$3::integer, $2::integer - 1) n order by n, k`,
    [keys, tasksPerKey, inFlight, provider],
  )
  await postgres.query('analyze open_tasks')
}

export const measureChoosing = async ({
  queues,
  free,
  rounds,
}: ChoosingOptions): Promise<ChoosingFigures[]> => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const logDirectory = join(directory.path, 'logs')
  await mkdir(logDirectory)
  const { postgres: port } = await reservePorts(directory.path, ['postgres'])
  const cluster = await createPostgresCluster(directory.path, port, logDirectory)
  const postgres = connectPostgres(
    { url: cluster.url, connectionsMax: 1 },
    createLog({ level: 'silent' }, 'bench'),
  )
  try {
    await migrate(postgres)
    const figures: ChoosingFigures[] = []
    for (const size of queues) {
      await fill(postgres, size)
      const slots = free + size.keys * size.inFlight
      const queue = { provider, slots, slotsElsewhere: 0, capacityOf: new Map(), isStopped: false }
      const measure = (choosing: typeof choose) => () =>
        postgres.transaction(async (database): Promise<Figures> => {
          await lockQueue(database, provider)
          const ownMs = () => {
            const { user, system } = process.cpuUsage()
            return (user + system) / 1000
          }
          const before = { postgres: cpuMsOfFamily(cluster.pid()), worker: ownMs() }
          const startedMs = performance.now()
          const { choices } = await choosing(database, queue, free, queueDefaults, undefined)
          const ms = performance.now() - startedMs
          if (choices.length !== free)
            throw new Error(`${choices.length} tasks were chosen instead of ${free}`)
          return {
            ms,
            worker: ownMs() - before.worker,
            postgres: cpuMsOfFamily(cluster.pid()) - before.postgres,
          }
        })
      const choosing = await measureInTurns<Arm>(
        { heads: measure(choose), 'one statement': measure(chooseByStatement) },
        rounds,
      )
      figures.push({ ...size, choosing })
    }
    return figures
  } finally {
    await postgres.close()
    await cluster.kill('SIGQUIT')
  }
}
