/** Kills a process between two effects of a task, and starts it again. */
import type { Effect, When } from './effect-holds.ts'
import type { ObservedStack } from './observed-stack.ts'

/** Where a process is killed: at a statement, or at a request to the vendor. */
export interface KillPoint {
  at: 'database' | 'vendor'
  action: RegExp
  /** Required of the values, if the action alone does not tell. */
  values?: RegExp
  when: When
  /**
   * `late`: held after the others, one at a time, because others may have to wait meanwhile: they share the statement, or a limit
   * that it counts against · `alone`: the process is killed at once, because it soon gives up what is held.
   */
  order?: 'late' | 'alone'
  /** The worker unless given. */
  role?: 'api'
}

/** A task, and where a process is killed that works on it. */
export interface Kill {
  /** For messages. */
  name: string
  point: KillPoint
  /** A part of the task's prompt that no other task has. */
  marker: string
  /** Creates the task and returns its id. */
  create: () => Promise<string>
  /** Called with the id when the process would be held. */
  onCreated?: (id: string) => void
}

const taskId = /(?:video|transcription)_[0-9a-f-]{36}|:\d{10}-\w{12}/

/** The effects on tasks that none of the actions describes, each once. */
export const findUndescribed = (seen: Effect[], actions: RegExp[]): string[] => [
  ...new Set(
    seen
      .filter(({ action, values }) => /^[A-Z]/.test(action) || taskId.test(values))
      .map(({ action }) => action)
      .filter((action) => !actions.some((described) => described.test(action))),
  ),
]

/**
 * Kills a process at a point of each of these tasks, several tasks at a time, and returns their ids. Fails if a task does not
 * come to its point.
 */
export const killAtEffects = async (
  { stack, holds }: ObservedStack,
  /** In the order in which a run comes to them. */
  points: readonly KillPoint[],
  kills: Kill[],
): Promise<Map<Kill, string>> => {
  const ids = new Map<Kill, string>()

  /** How far the task came, and who is held instead. */
  const describeWay = (kill: Kill, these: Kill[], held: Set<Kill>): string => {
    const seen = [...holds.worker.seen, ...holds.api.seen]
    const ownEffects = seen.filter(
      ({ values }) => values.includes(kill.marker) || values.includes(ids.get(kill) ?? kill.marker),
    )
    return [
      'Its effects:',
      ...ownEffects.map(({ action }) => action.slice(0, 160)),
      'Held:',
      ...these.filter((each) => held.has(each)).map(({ name }) => name),
    ].join('\n')
  }

  const holdAll = async (these: Kill[]) => {
    const held = new Set<Kill>()
    const isOfTask = (kill: Kill, values: string) => {
      const ownId = ids.get(kill)
      if (kill.point.at === 'database') return ownId !== undefined && values.includes(ownId)
      if (values.includes(kill.marker)) return true
      return stack.vendor.jobs().some(({ id, prompt }) => prompt.includes(kill.marker) && values.includes(id))
    }
    const addHold = (kill: Kill) => {
      const { action, values = /^/, when, role = 'worker' } = kill.point
      holds[role].add({
        when,
        matches: (effect) =>
          action.test(effect.action) && values.test(effect.values) && isOfTask(kill, effect.values),
        onHeld: () => held.add(kill),
      })
    }
    for (const kill of these) addHold(kill)
    // The ids have to be known before the worker changes the tasks.
    await holds.worker.withoutStatements(() =>
      Promise.all(these.map(async (kill) => ids.set(kill, await kill.create()))),
    )
    for (const kill of these) kill.onCreated?.(ids.get(kill) ?? '')
    for (const kill of these) {
      await stack
        .until(`the process is held: ${kill.name}`, async () => held.has(kill))
        .catch((error: unknown) => {
          throw new Error(`${String(error)}\n${describeWay(kill, these, held)}`)
        })
    }
  }

  const killAndRestart = async (role: 'api' | 'worker') => {
    const process = role === 'api' ? stack.api : stack.workers[0]
    await process?.kill()
    holds[role].clear()
    await process?.start()
  }

  /** Holds each point once. A task on its way to a point passes the points before it, so these are held after it. */
  const runRound = async (round: Kill[], role: 'api' | 'worker') => {
    const laterFirst = round.toSorted((one, other) => points.indexOf(other.point) - points.indexOf(one.point))
    await holdAll(laterFirst.filter(({ point }) => point.order !== 'late'))
    for (const kill of laterFirst.filter(({ point }) => point.order === 'late')) await holdAll([kill])
    await killAndRestart(role)
  }

  for (const role of ['worker', 'api'] as const) {
    let pending = kills.filter(({ point }) => (point.role ?? 'worker') === role)
    while (pending.length > 0) {
      const isFirst = ({ point }: Kill, at: number) =>
        pending.findIndex((each) => each.point === point) === at
      const together = pending.filter((kill, at) => kill.point.order !== 'alone' && isFirst(kill, at))
      const round = together.length > 0 ? together : pending.slice(0, 1)
      await runRound(round, role)
      pending = pending.filter((kill) => !round.includes(kill))
    }
  }
  return ids
}
