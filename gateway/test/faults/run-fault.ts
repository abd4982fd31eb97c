/** Runs one fault while customers use the service, and counts the damage. */
import { setTimeout as sleep } from 'node:timers/promises'

import { startClient, type Client } from './client.ts'
import type { FaultStack, VendorName } from './fault-stack.ts'
import { judge, type Damage } from './judge.ts'
import { until } from './part.ts'

export interface FaultScene {
  stack: FaultStack
  client: Client
  /** Records a share that must be at least 0.8 or as given, such as the completions of another provider meanwhile. */
  report: (name: string, share: number, shareMin?: number) => void
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
  /** The vendors whose tasks are created, if not all. */
  vendors?: VendorName[]
  /** The tasks of the fault must have ended so soon after it. */
  recoveredWithinMs?: number
}

export interface FaultResult {
  line: string
  /** The names of the figures beyond their target; empty if the fault did no damage. */
  problems: string[]
  examples: string[]
}

export interface RunOptions {
  createsPerSecond: number
  vendors: VendorName[]
  /** So many tasks have to be completed before the fault, so that it meets a service at work. */
  completedBefore: number
  /** A task that is still open so long after the fault counts as stuck. It only bounds a run that fails. */
  stuckAfterMs: number
}

const usualShareMin = 0.8
const names: Record<keyof Damage, string> = {
  lost: 'lost',
  doubleCharged: 'double-charged',
  stuck: 'stuck',
  duplicateJobs: 'duplicate jobs',
  failedRequests: 'failed requests',
  crashed: 'crashed',
  brokenStreams: 'broken streams',
}

const countCompleted = async ({ postgres }: FaultStack, { accountIds }: Client) => {
  const [row] = await postgres.query<{ count: number }>(
    `select count(*)::int as count from video_tasks where state = 'completed' and account_id = any($1)`,
    [accountIds],
  )
  return row?.count ?? 0
}

/** Whether every create that began before this time is answered, and its task has ended. */
const haveEnded = async ({ postgres }: FaultStack, { creates }: Client, beforeMs: number) => {
  const before = creates.filter(({ startedAtMs }) => startedAtMs <= beforeMs)
  if (before.some(({ isSettled }) => !isSettled)) return false
  const taskIds = before.flatMap(({ taskId }) => taskId ?? [])
  const rows = await postgres.query(`select from open_tasks where task_id = any($1) limit 1`, [taskIds])
  return rows.length === 0
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1)

export const runFault = async (
  stack: FaultStack,
  { run, mayFail, vendors, recoveredWithinMs = Infinity }: Fault,
  { stuckAfterMs, completedBefore, ...load }: RunOptions,
): Promise<FaultResult> => {
  const crashesBefore = stack.crashes.length
  const client = await startClient(stack, { ...load, ...(vendors !== undefined && { vendors }) })
  const shares: { name: string; share: number; shareMin: number }[] = []
  let recoveryMs: number | undefined
  try {
    await until(
      'the first tasks are completed',
      async () => (await countCompleted(stack, client)) >= completedBefore,
    )
    const report = (name: string, share: number, shareMin = usualShareMin) =>
      shares.push({ name, share, shareMin })
    const reportCreates = async (duringMs: number) => {
      await sleep(duringMs / 2)
      const sinceMs = Date.now()
      await sleep(duringMs / 2)
      report('creates confirmed meanwhile', client.confirmedShare(sinceMs))
    }
    await run({ stack, client, report, reportCreates })
    const repairedAtMs = Date.now()
    const waitOptions = { withinMs: stuckAfterMs, everyMs: 100 }
    const isRecovered = await until(
      'the tasks of the fault have ended',
      () => haveEnded(stack, client, repairedAtMs),
      waitOptions,
    ).then(
      () => true,
      () => false,
    )
    if (isRecovered) recoveryMs = Date.now() - repairedAtMs
    client.stop()
    const stoppedAtMs = Date.now()
    const hasEnded = () => haveEnded(stack, client, stoppedAtMs)
    if (isRecovered) await until('all tasks have ended', hasEnded, waitOptions).catch(() => undefined)
    const areStreamsOver = () => client.followed.every((each) => each.hasEnded)
    await until('all streams have ended', areStreamsOver, { withinMs: isRecovered ? 30_000 : 0 }).catch(
      () => undefined,
    )
  } finally {
    await client.end()
  }
  const crashes = stack.crashes.slice(crashesBefore)
  const { damage, tasks, examples } = await judge(stack, client, crashes, mayFail === true)
  const low = shares.filter(({ share, shareMin }) => share < shareMin)
  const problems = [
    ...Object.entries(damage).flatMap(([name, count]) => (count > 0 ? names[name as keyof Damage] : [])),
    ...low.map(({ name }) => name),
    ...((recoveryMs ?? Infinity) > recoveredWithinMs ? ['recovery'] : []),
  ]
  const figures = [
    `${tasks} tasks`,
    ...Object.entries(damage).map(([name, count]) => `${names[name as keyof Damage]} ${count}`),
    ...shares.map(({ name, share }) => `${name} ${Math.round(share * 100)} %`),
    recoveryMs === undefined ? 'not recovered' : `recovered in ${seconds(recoveryMs)} s`,
    problems.length === 0 ? 'ok' : `FAILED (${problems.join(', ')})`,
  ]
  return { line: figures.join('  '), problems, examples }
}
