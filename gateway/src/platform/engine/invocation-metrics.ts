/** The metrics of what the engine has a worker execute, and of its comparison with the database. */
import { count, measure, observe, secondsSince, type LabelsOf } from '../metrics/metrics.ts'
import type { Invocation } from './invocation-store.ts'

/** Executes the work of an invocation. */
export const measureInvocation = async <Result>(
  service: string,
  work: () => Promise<Result>,
): Promise<Result> => {
  const startedMs = performance.now()
  const end = (outcome: 'done' | 'failed') =>
    measure('kinora.engine.invocation.duration', secondsSince(startedMs), { service, outcome })
  try {
    const result = await work()
    end('done')
    return result
  } catch (error) {
    end('failed')
    throw error
  }
}

/**
 * Measures how late the engine delivers the ticks of a loop. Only this process knows when it expects one, so a tick that
 * another worker has scheduled is not measured.
 */
export const createTickLag = (service: string) => {
  const expected = new Map<string, { schedule: number; dueMs: number }>()
  return {
    expected: (key: string, schedule: number, delayMs: number): void => {
      expected.set(key, { schedule, dueMs: performance.now() + delayMs })
    },
    arrived: (key: string, schedule: number | undefined): void => {
      const tick = expected.get(key)
      if (tick === undefined || tick.schedule !== schedule) return
      // The engine may execute the handler again.
      expected.delete(key)
      measure('kinora.engine.loop.lag', secondsSince(tick.dueMs), { service })
    },
  }
}

interface Findings {
  woken: string[]
  lost: number
  overdue: number
  resumed: number
  killed: number
}

export const countFindings = ({ woken, lost, overdue, resumed, killed }: Findings): void => {
  const findings = {
    ...{ stopped_loop: woken.length, lost_run: lost, overdue_run: overdue },
    ...{ paused: resumed, outdated: killed },
  }
  for (const [finding, found] of Object.entries(findings))
    count('kinora.engine.findings', { finding: finding as keyof typeof findings }, found)
}

type State = NonNullable<LabelsOf<'kinora.engine.invocations'>['state']>
const states: State[] = [
  ...(['pending', 'scheduled', 'ready', 'running', 'backing-off', 'suspended', 'paused', 'inboxed'] as const),
]
/** The workers compare in turn. After this time, another one has newer numbers. */
const freshMs = 60_000
let noted: { atMs: number; byState: Map<string, number> } | undefined

/** Keeps how many invocations the engine has, for the next collection. */
export const noteInvocations = (invocations: Invocation[]): void => {
  const byState = new Map<string, number>()
  for (const { status } of invocations) byState.set(status, (byState.get(status) ?? 0) + 1)
  noted = { atMs: performance.now(), byState }
}

export const observeInvocations = (): (() => void) =>
  observe('kinora.engine.invocations', () => {
    if (noted === undefined || performance.now() - noted.atMs > freshMs) return []
    const { byState } = noted
    return states.map((state) => [byState.get(state) ?? 0, { state }])
  })
