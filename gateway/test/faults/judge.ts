/** Compares what the customers were told with the record, the ledger, the stored files and the books of the vendors. */
import type { VendorJob } from '../../../dev/vendor/job.ts'
import type { Client } from './client.ts'
import type { WatchedStack } from './fault-stack.ts'
import { findHolds, findWronglyCharged, releaseHolds } from './judge-charges.ts'
import { findWrongBytes } from './judge-files.ts'
import { readTasks, type Task } from './read-tasks.ts'

/** Counts that must be zero. */
export interface Damage {
  /** Confirmed tasks that are not in the record, have failed, or have no file. */
  lost: number
  /** Tasks with anything but one hold and one capture or release, second tasks of one create, audio charged twice. */
  doubleCharged: number
  /** Files and downloads with other bytes than the vendor has served for the job of the task. */
  wrongBytes: number
  stuck: number
  /** Jobs that a vendor has besides the first of a task. */
  duplicateJobs: number
  /** Amounts that stay reserved after everything has ended. */
  holdsLeft: number
  /** Requests that were refused for good or failed after the last retry. */
  failedRequests: number
  /** Processes that ended although no fault has ended them. */
  crashed: number
  /** Event streams that have not ended, or lack or repeat an event. */
  brokenStreams: number
}

export interface Judged {
  damage: Damage
  tasks: number
  /** Each case of damage. */
  found: Record<keyof Damage, string[]>
  /** The first of each kind. */
  examples: string[]
}

const findLost = (client: Client, tasks: Task[], mayFail: boolean) => {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  return client.creates.flatMap(({ taskId }) => {
    if (taskId === undefined) return []
    const task = byId.get(taskId)
    if (task === undefined) return `${taskId} is not in the record`
    return task.state === 'failed' && !mayFail ? `${taskId} failed with ${task.error}` : []
  })
}

const findDuplicateJobs = (jobs: VendorJob[], { creates }: Client) => {
  const prompts = new Set(creates.map(({ prompt }) => prompt))
  const ours = jobs.filter(({ prompt }) => prompts.has(prompt))
  return [...Map.groupBy(ours, ({ prompt }) => prompt)].flatMap(([prompt, { length }]) =>
    Array.from({ length: length - 1 }, () => `the vendors have ${length} jobs of "${prompt}"`),
  )
}

const findStuck = ({ postgres }: WatchedStack, { accountIds }: Client) =>
  postgres.query<{ text: string }>(
    `select concat_ws(' ', task_id, provider, stage, 'run', run, 'submits', submits,
              case when outcome_unknown_since is not null then 'outcome unknown' end,
              case when upstream is not null then 'has a job' end,
              case when outcome is not null then 'has an outcome' end) as text
       from open_tasks where account_id = any($1)
     union all
     -- A slot that is never freed.
     select concat_ws(' ', tasks, 'tasks of', provider, model, 'are counted in flight, but there are', counted)
       from tasks_in_flight f,
            lateral (select count(*) as counted from open_tasks o
                      where o.stage <> 'accepted' and o.provider = f.provider and o.account_id = f.account_id
                        and o.key_id = f.key_id and o.model = f.model) c
      where f.account_id = any($1) and tasks <> counted`,
    [accountIds],
  )

const findBrokenStreams = async ({ postgres }: WatchedStack, { followed, accountIds }: Client) => {
  const rows = await postgres.query<{ taskId: string; ids: number[] }>(
    `select e.task_id as "taskId", array_agg(e.id::int order by e.id) as ids
       from task_events e join video_tasks t on t.day = e.day and t.id = e.task_id
      where t.account_id = any($1) group by e.task_id`,
    [accountIds],
  )
  const written = new Map(rows.map(({ taskId, ids }) => [taskId, ids.join()]))
  return followed.flatMap(({ taskId, eventIds, hasEnded }) =>
    hasEnded && written.get(taskId) === eventIds.join()
      ? []
      : `stream of ${taskId} ${hasEnded ? 'ended' : 'open'}: received ${eventIds.join()}, recorded ${written.get(taskId)}`,
  )
}

const examplesMax = 3

export const judge = async (
  stack: WatchedStack,
  client: Client,
  {
    crashes = [],
    mayFail = false,
    releasesHolds = true,
  }: {
    crashes?: string[]
    /** Whether a vendor has forgotten its jobs, so that their tasks may fail. They must not be charged then. */
    mayFail?: boolean
    /** Whether holds of processes that died are released first. */
    releasesHolds?: boolean
  } = {},
): Promise<Judged> => {
  const tasks = await readTasks(stack, client)
  const jobs = (await Promise.all(Object.values(stack.vendors).map((vendor) => vendor.jobs()))).flat()
  const jobIds = new Set(jobs.map(({ id }) => id))
  const { missing, wrong } = await findWrongBytes(stack, client, tasks, mayFail ? undefined : jobIds)
  if (releasesHolds) await releaseHolds(stack, client)
  const found: Record<keyof Damage, string[]> = {
    lost: [...findLost(client, tasks, mayFail), ...missing],
    doubleCharged: await findWronglyCharged(stack, client, tasks),
    wrongBytes: wrong,
    stuck: (await findStuck(stack, client)).map(({ text }) => text),
    duplicateJobs: findDuplicateJobs(jobs, client),
    holdsLeft: (await findHolds(stack, client)).map(({ text }) => text),
    failedRequests: client.failures,
    crashed: crashes,
    brokenStreams: await findBrokenStreams(stack, client),
  }
  return {
    tasks: tasks.length,
    damage: Object.fromEntries(
      Object.entries(found).map(([name, { length }]) => [name, length]),
    ) as unknown as Damage,
    found,
    examples: Object.entries(found).flatMap(([name, each]) =>
      each.slice(0, examplesMax).map((example) => `${name}: ${example}`),
    ),
  }
}
