/** How fast one account can create, against a thousand accounts that together send as many requests. */
import { createKeys, createVideoOf, startBenchStack, type BenchKey, type BenchStack } from '../bench-stack.ts'
import { minus, per, total, type Figures } from '../measure/figures.ts'
import { runLoad } from '../measure/load.ts'
import { measureInTurns, type Rounds } from '../measure/rounds.ts'

export interface AccountOptions {
  rounds: number
  ms: number
  connections: number[]
}

type Arm = 'one account' | 'a thousand accounts'

export interface AccountFigures {
  apis: 1 | 2
  connections: number
  create: Rounds<Arm>
}

const accounts = 1_000

/** Sends requests to all APIs at once; every account uses all of them. */
const measureCreates = async (
  { stack, cpu }: BenchStack,
  { origins, keys }: { origins: string[]; keys: BenchKey[] },
  connections: number,
  ms: number,
): Promise<Figures> => {
  // The queue of an account has a limit.
  await stack.postgres.query('truncate open_tasks')
  const before = cpu()
  const loads = await Promise.all(
    origins.map((origin, index) => {
      const first = Math.floor((index * keys.length) / origins.length)
      const inTurn = [...keys.slice(first), ...keys.slice(0, first)]
      const options = { connections: connections / origins.length, until: { ms } }
      return runLoad(origin, createVideoOf(inTurn), options)
    }),
  )
  const used = per(
    minus(cpu(), before),
    loads.reduce((sum, { count }) => sum + count, 0),
  )
  const figures = loads.map((load) => load.figures)
  const figureOf = (name: string) => figures.map((each) => each[name] ?? Number.NaN)
  return {
    ...used,
    cpu: total(used),
    'per second': figureOf('per second').reduce((sum, each) => sum + each, 0),
    'p50 ms': Math.max(...figureOf('p50 ms')),
    'p99 ms': Math.max(...figureOf('p99 ms')),
  }
}

export const measureAccounts = async ({
  rounds,
  ms,
  connections,
}: AccountOptions): Promise<AccountFigures[]> => {
  const figures: AccountFigures[] = []
  for (const apis of [1, 2] as const) {
    await using bench = await startBenchStack({ processes: { apis, workers: 1 } })
    const { stack } = bench
    const many = await createKeys(stack, accounts)
    const origins = stack.origins.slice(0, apis)
    // Only the creates are measured here, not the work that they lead to.
    await stack.workers[0].kill()
    for (const count of connections) {
      const create = await measureInTurns<Arm>(
        {
          'one account': () => measureCreates(bench, { origins, keys: bench.keys.slice(0, 1) }, count, ms),
          'a thousand accounts': () => measureCreates(bench, { origins, keys: many }, count, ms),
        },
        rounds,
      )
      figures.push({ apis, connections: count, create })
    }
  }
  return figures
}
