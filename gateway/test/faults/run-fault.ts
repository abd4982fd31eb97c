/** Runs one fault while customers use the service, and counts the damage. */
import { setTimeout as sleep } from 'node:timers/promises'

import { startClient, type Client, type ClientOptions } from './client.ts'
import type { FaultStack, ModelName, WatchedStack } from './fault-stack.ts'
import { judge, type Damage } from './judge.ts'
import { until } from './part.ts'
import { countBefore, haveEnded, isRateBack, windowMs } from './recovery.ts'
import { findStalls } from './stalls.ts'

export interface FaultScene {
  stack: FaultStack
  client: Client
  /** Records a share that must be at least 0.8 or as given, such as the completions of another provider meanwhile. */
  report: (name: string, share: number, shareMin?: number) => void
  /** Adds a figure to the output that is not judged. */
  note: (figure: string) => void
  /** Waits, and reports how many of the creates offered in the second half of that time are confirmed in it. */
  reportCreates: (duringMs: number) => Promise<void>
}

export interface Fault {
  /** Causes the fault and repairs it; returns when everything runs again. */
  run: (scene: FaultScene) => Promise<void>
  /** Part of the short form that CI runs. */
  isQuick?: true
  /** Tasks may fail, because a vendor forgets its jobs. */
  mayFail?: true
  /** Nobody can create a task during the fault. Otherwise customers must not notice that it goes on. */
  stopsCreates?: true
  /** The models of which tasks are created, if not all. */
  models?: ModelName[]
  /** The tasks of the fault must have ended, and tasks be completed at the rate of before, so soon after it. */
  recoveredWithinMs?: number
  /** Not part of a series, because it takes too long or affects what follows. */
  isLong?: true
}

export interface FaultResult {
  line: string
  /** The names of the figures beyond their target; empty if the fault did no damage. */
  problems: string[]
  examples: string[]
  client: Client
}

export interface RunOptions extends ClientOptions {
  /** So many tasks have to be completed before the fault, so that it meets a service at work. */
  completedBefore: number
  /** A task that is still open so long after the fault counts as stuck. It only bounds a run that fails. */
  stuckAfterMs: number
  /** Whether the times of recovery and of outages are judged; on a busy machine they show nothing. */
  judgesTimes: boolean
}

const usualShareMin = 0.8
/** Only bounds a run that fails. */
export const beginsWithinMs = 300_000
const usualRecoveryMsMax = 60_000
/** For so long no create may be confirmed although some wait, apart from the time of a fault that stops creates. */
const outageMsMax = 5_000

export const damageNames: Record<keyof Damage, string> = {
  lost: 'lost',
  doubleCharged: 'double-charged',
  wrongBytes: 'wrong bytes',
  stuck: 'stuck',
  duplicateJobs: 'duplicate jobs',
  holdsLeft: 'holds left',
  failedRequests: 'failed requests',
  crashed: 'crashed',
  brokenStreams: 'broken streams',
}

export const countCompleted = async ({ postgres }: WatchedStack, { accountIds }: Client) => {
  const [row] = await postgres.query<{ count: number }>(
    `select count(*)::int as count from video_tasks where state = 'completed' and account_id = any($1)`,
    [accountIds],
  )
  return row?.count ?? 0
}

export const seconds = (ms: number) => (ms / 1_000).toFixed(1)

export interface FaultFigures {
  /** Undefined if it has not recovered. */
  recoveryMs: number | undefined
  /** The longest time in which creates were waiting and none was confirmed. */
  outageMs: number
  /** The creates of this time that were sent more than once. */
  retried: number
  shares: { name: string; share: number; shareMin: number }[]
  notes: string[]
  /** The names of the figures beyond their target. */
  problems: string[]
}

/** Causes the fault, and waits until the service has recovered. */
export const causeFault = async (
  stack: FaultStack,
  client: Client,
  { run, stopsCreates, recoveredWithinMs = usualRecoveryMsMax }: Fault,
  {
    stuckAfterMs,
    judgesTimes,
    withUnknown,
  }: Pick<RunOptions, 'stuckAfterMs' | 'judgesTimes'> & {
    /** Whether it also waits for submits whose outcome is unknown. */
    withUnknown: boolean
  },
): Promise<FaultFigures> => {
  const shares: FaultFigures['shares'] = []
  const notes: string[] = []
  const report = (name: string, share: number, shareMin = usualShareMin) =>
    shares.push({ name, share, shareMin })
  const reportCreates = async (duringMs: number) => {
    await sleep(duringMs / 2)
    const sinceMs = Date.now()
    await sleep(duringMs / 2)
    report('creates confirmed meanwhile', client.confirmedShare(sinceMs))
  }
  const startedAtMs = Date.now()
  const completedBefore = await countBefore(stack, client, startedAtMs)
  await run({ stack, client, report, note: (figure) => notes.push(figure), reportCreates })
  const repairedAtMs = Date.now()
  const waitOptions = { withinMs: stuckAfterMs, everyMs: 100 }
  const isWithin = (what: string, holds: () => Promise<boolean>) =>
    until(what, holds, waitOptions).then(
      () => true,
      () => false,
    )
  const [areTasksOver, isBack] = await Promise.all([
    isWithin('the tasks of the fault have ended', () =>
      haveEnded(stack, client, repairedAtMs, { withUnknown }),
    ).then((isOver) => (isOver ? Date.now() : undefined)),
    isWithin(
      'tasks are completed at the rate of before',
      async () =>
        !judgesTimes ||
        client.isStopped() ||
        (await isRateBack(stack, client, completedBefore, repairedAtMs)),
    ).then((isOver) => (isOver ? Date.now() - windowMs : undefined)),
  ])
  const recoveryMs =
    areTasksOver === undefined || isBack === undefined
      ? undefined
      : Math.max(areTasksOver, isBack) - repairedAtMs
  const outageMs = client.outages.longestMs(startedAtMs)
  const isLongOutage = outageMs > outageMsMax + (stopsCreates === true ? repairedAtMs - startedAtMs : 0)
  return {
    recoveryMs,
    outageMs,
    retried: client.creates.filter(
      (create) => create.attempts > 1 && (create.confirmedAtMs ?? 0) >= startedAtMs,
    ).length,
    shares,
    notes,
    problems: [
      // A share that is not finite was compared with nothing.
      ...shares
        .filter(({ share, shareMin }) => !(share >= shareMin && Number.isFinite(share)))
        .map(({ name }) => name),
      ...(judgesTimes && isLongOutage ? ['outage'] : []),
      ...(recoveryMs === undefined || (judgesTimes && recoveryMs > recoveredWithinMs) ? ['recovery'] : []),
    ],
  }
}

/** Stops the customers, and waits until their tasks, requests and streams have ended. */
export const windDown = async (stack: WatchedStack, client: Client, withinMs: number): Promise<void> => {
  client.stop()
  const stoppedAtMs = Date.now()
  const haveAllEnded = async () => (await haveEnded(stack, client, stoppedAtMs)) && client.audio.isIdle()
  await until('all tasks have ended', haveAllEnded, { withinMs, everyMs: 100 }).catch(() => undefined)
  const areStreamsOver = () => client.followed.every((each) => each.hasEnded)
  await until('all streams have ended', areStreamsOver, { withinMs: Math.min(withinMs, 30_000) }).catch(
    () => undefined,
  )
}

export const runFault = async (
  stack: FaultStack,
  fault: Fault,
  { stuckAfterMs, completedBefore, judgesTimes, ...load }: RunOptions,
): Promise<FaultResult> => {
  const crashesBefore = stack.crashes.length
  const startedAtMs = Date.now()
  const client = await startClient(stack, {
    ...load,
    ...(fault.models !== undefined && { models: fault.models }),
  })
  let figures: FaultFigures
  try {
    await until(
      'the first tasks are completed',
      async () => (await countCompleted(stack, client)) >= completedBefore,
      { withinMs: beginsWithinMs },
    )
    figures = await causeFault(stack, client, fault, { stuckAfterMs, judgesTimes, withUnknown: true })
    await windDown(stack, client, figures.recoveryMs === undefined ? 0 : stuckAfterMs)
  } finally {
    await client.end()
  }
  const crashes = stack.crashes.slice(crashesBefore)
  const stalls = judgesTimes ? await findStalls(stack, startedAtMs) : []
  const { damage, tasks, examples } = await judge(stack, client, { crashes, mayFail: fault.mayFail === true })
  const { recoveryMs, outageMs, retried, shares, notes } = figures
  const problems = [
    ...Object.entries(damage).flatMap(([name, count]) =>
      count > 0 ? damageNames[name as keyof Damage] : [],
    ),
    ...figures.problems,
    ...(stalls.length > 0 ? ['invalid'] : []),
  ]
  const line = [
    `${tasks} tasks`,
    ...Object.entries(damage).map(([name, count]) => `${damageNames[name as keyof Damage]} ${count}`),
    ...shares.map(({ name, share }) => `${name} ${Math.round(share * 100)} %`),
    ...notes,
    `creates retried ${retried}, none confirmed for ${seconds(outageMs)} s`,
    recoveryMs === undefined ? 'not recovered' : `recovered in ${seconds(recoveryMs)} s`,
    problems.length === 0 ? 'ok' : `FAILED (${problems.join(', ')})`,
  ]
  return { line: line.join('  '), problems, examples: [...stalls, ...examples], client }
}
