import { noteInvocations } from './invocation-metrics.ts'
/**
 * Compares the open tasks in the database with the invocations of the engine, and repairs the difference. It is the only
 * repair: everything else relies on the engine, which may have been emptied, restored from a copy, or told to kill an
 * invocation.
 *
 * A task that the engine does not carry gets a new run. That is harmless if it was wrong, because a run that a newer one
 * has replaced ends at its next step.
 */
import { readInvocations, type Invocation } from './invocation-store.ts'
import type { Engine } from './restate.ts'
import { parseRunKey, runKey, runKeysIn, type Run } from './run-key.ts'

export interface EngineLoop {
  loop: string
  key: string
  /** It has work that was due long ago, so a wake-up was lost. */
  isOverdue?: boolean
}

/** The open tasks of one kind. */
export interface CarriedTasks {
  /** The service of their runs. */
  service: string
  /** The current runs of all open tasks, or of these, that the engine should carry. */
  readRuns: (taskIds?: string[]) => Promise<(Run & { isNew: boolean })[]>
  /** The last runs of tasks whose outcome or deadline no run has processed. */
  findOverdue: () => Promise<Run[]>
  /** Gives tasks a new run, unless they have one already; returns the new runs. */
  renew: (runs: Run[]) => Promise<Run[]>
}

export interface CheckDependencies {
  engine: Engine
  /** Read at every check, because providers may be added and removed. */
  loops: () => Promise<EngineLoop[]>
  carried: CarriedTasks[]
}

export interface EngineCheck {
  openTasks: number
  invocations: number
  /** Loops that did not run, or had missed a wake-up, and were woken, as `loop/key`. */
  woken: string[]
  /** Tasks that got a new run, because the engine did not carry them. */
  lost: number
  /** Tasks that got a new run, because nothing processed their outcome or deadline. */
  overdue: number
  /** Invocations that the engine had paused. */
  resumed: number
  /** Invocations of tasks that have ended or have a newer run. */
  killed: number
  /** The sum of these. */
  repairs: number
}

const keysPerQuery = 500
/** An invocation in another state is executing, or about to. */
const isResting = ({ status }: Invocation) => ['suspended', 'backing-off', 'paused'].includes(status)

const chunksOf = <Item>(items: Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / keysPerQuery) }, (_, index) =>
    items.slice(index * keysPerQuery, (index + 1) * keysPerQuery),
  )

/** Of the runs that seem lost, those that are still current and that the engine still does not carry. */
const confirmLost = async (engine: Engine, tasks: CarriedTasks, seemLost: Run[]): Promise<Run[]> => {
  const lost: Run[] = []
  for (const chunk of chunksOf(seemLost)) {
    const current = await tasks.readRuns(chunk.map(({ taskId }) => taskId))
    const keys = new Set(current.map(runKey))
    const still = chunk.filter((run) => keys.has(runKey(run)))
    if (still.length === 0) continue
    const carried = await readInvocations(engine, [tasks.service], still.map(runKey))
    const carriedKeys = new Set(carried.flatMap(({ key }) => runKeysIn(key)))
    lost.push(...still.filter((run) => !carriedKeys.has(runKey(run))))
  }
  return lost
}

const restart = async (engine: Engine, { service, renew }: CarriedTasks, runs: Run[]): Promise<number> => {
  let count = 0
  for (const chunk of chunksOf(runs)) {
    const renewed = await renew(chunk)
    count += renewed.length
    // The next check finds those that fail.
    await Promise.allSettled(renewed.map((run) => engine.start(service, run)))
  }
  return count
}

/** Ends invocations that wait for nothing: their tasks have ended, or have newer runs. Returns those it has found. */
const killOutdated = async (
  engine: Engine,
  tasks: CarriedTasks,
  invocations: Invocation[],
  known: Set<string>,
): Promise<{ outdated: Invocation[]; killed: number }> => {
  const hasAny = ({ key }: Invocation, keys: Set<string>) => runKeysIn(key).some((each) => keys.has(each))
  const candidates = invocations.filter((each) => isResting(each) && !hasAny(each, known))
  const found: Invocation[] = []
  let killed = 0
  for (const chunk of chunksOf(candidates)) {
    const taskIds = chunk.flatMap(({ key }) => runKeysIn(key).map((each) => parseRunKey(each).taskId))
    const keys = new Set((await tasks.readRuns(taskIds)).map(runKey))
    const outdated = chunk.filter((each) => !hasAny(each, keys))
    found.push(...outdated)
    const kills = await Promise.allSettled(outdated.map(({ id }) => engine.kill(id)))
    killed += kills.filter(({ status }) => status === 'fulfilled').length
  }
  return { outdated: found, killed }
}

/** Checks everything once. It fails if the engine or the database does not respond; the next check goes on. */
export const checkEngine = async ({ engine, loops, carried }: CheckDependencies): Promise<EngineCheck> => {
  // The tasks are read first: what starts in between is not missed in the engine's list.
  const runsOf = await Promise.all(carried.map(({ readRuns }) => readRuns()))
  const wanted = await loops()
  const services = [...new Set([...wanted.map(({ loop }) => loop), ...carried.map(({ service }) => service)])]
  const invocations = await readInvocations(engine, services)
  noteInvocations(invocations)
  const byService = Map.groupBy(invocations, ({ service }) => service)
  const running = new Set(invocations.map(({ service, key }) => `${service}/${key}`))

  const stopped = wanted.filter(
    ({ loop, key, isOverdue = false }) => isOverdue || !running.has(`${loop}/${key}`),
  )
  await Promise.allSettled(stopped.map(({ loop, key }) => engine.startLoop(loop, key)))

  const check = {
    openTasks: runsOf.reduce((sum, runs) => sum + runs.length, 0),
    invocations: invocations.length,
    woken: stopped.map(({ loop, key }) => `${loop}/${key}`),
    lost: 0,
    overdue: 0,
    resumed: 0,
    killed: 0,
  }
  const ended = new Set<Invocation>()
  for (const [index, tasks] of carried.entries()) {
    const runs = runsOf[index] ?? []
    const ofTasks = byService.get(tasks.service) ?? []
    const carriedKeys = new Set(ofTasks.flatMap(({ key }) => runKeysIn(key)))
    // The start of a new run may still be under way.
    const seemLost = runs.filter((run) => !run.isNew && !carriedKeys.has(runKey(run)))
    check.lost += await restart(engine, tasks, await confirmLost(engine, tasks, seemLost))
    // One that is about to execute only waits for its turn.
    const busyKeys = new Set(ofTasks.flatMap((each) => (isResting(each) ? [] : runKeysIn(each.key))))
    const overdue = await tasks.findOverdue()
    check.overdue += await restart(
      engine,
      tasks,
      overdue.filter((run) => !busyKeys.has(runKey(run))),
    )
    const { outdated, killed } = await killOutdated(engine, tasks, ofTasks, new Set(runs.map(runKey)))
    check.killed += killed
    for (const each of outdated) ended.add(each)
  }
  const paused = invocations.filter((each) => each.status === 'paused' && !ended.has(each))
  await Promise.allSettled(paused.map(({ id }) => engine.resume(id)))
  check.resumed = paused.length
  const { woken, lost, overdue, resumed, killed } = check
  return { ...check, repairs: woken.length + lost + overdue + resumed + killed }
}
