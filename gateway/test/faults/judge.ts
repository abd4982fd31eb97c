/** Compares what the customers were told with the record, the ledger, the stored files and the books of the vendors. */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { brokenInvariants } from '../kit/ledger.ts'
import type { Client } from './client.ts'
import type { FaultStack } from './fault-stack.ts'

/** Counts that must be zero. */
export interface Damage {
  /** Confirmed tasks that are not in the record, have failed, or have no file with the vendor's bytes. */
  lost: number
  /** Tasks with anything but one hold and one capture or release, and second tasks of one create. */
  doubleCharged: number
  stuck: number
  /** Jobs that a vendor has besides the first of a task. */
  duplicateJobs: number
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
  /** The first examples of each kind of damage. */
  examples: string[]
}

interface Task {
  id: string
  prompt: string
  state: string
  error: string | null
  storageKey: string | null
  sha256: string | null
  holds: number
  captures: number
  releases: number
}

const sampleHash = createHash('sha256')
  .update(await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url)))
  .digest('hex')

const isOver = ({ state }: Task) => state === 'completed' || state === 'failed'

const isPaidOnce = (task: Task) =>
  task.holds === 1 &&
  task.captures === (task.state === 'completed' ? 1 : 0) &&
  task.releases === (task.state === 'failed' ? 1 : 0)

const readTasks = ({ postgres }: FaultStack, { accountIds }: Client) =>
  postgres.query<Task & Record<string, unknown>>(
    `select t.id, t.video_order ->> 'prompt' as prompt, t.state, t.error_code as error,
            m.storage_key as "storageKey", encode(m.sha256, 'hex') as sha256,
            coalesce(l.holds, 0)::int as holds, coalesce(l.captures, 0)::int as captures,
            coalesce(l.releases, 0)::int as releases
       from video_tasks t
       left join media m on m.id = t.media_id
       left join (select task_id, count(*) filter (where movement = 'hold') as holds,
                         count(*) filter (where movement = 'capture') as captures,
                         count(*) filter (where movement = 'release') as releases
                    from ledger_entries where book = 'held' and account_id = any($1) group by task_id) l
         on l.task_id = t.id
      where t.account_id = any($1)`,
    [accountIds],
  )

const hasFile = async ({ directory }: FaultStack, { storageKey, sha256 }: Task) =>
  storageKey !== null &&
  sha256 === sampleHash &&
  (await stat(join(directory, 'media', storageKey)).then(
    ({ size }) => size > 0,
    () => false,
  ))

const findLost = async (stack: FaultStack, client: Client, tasks: Task[], mayFail: boolean) => {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const lost: string[] = []
  for (const { taskId } of client.creates) {
    if (taskId === undefined) continue
    const task = byId.get(taskId)
    if (task === undefined) lost.push(`${taskId} is not in the record`)
    else if (task.state === 'failed' && !mayFail) lost.push(`${taskId} failed with ${task.error}`)
    else if (task.state === 'completed' && !(await hasFile(stack, task))) lost.push(`${taskId} has no video`)
  }
  return lost
}

const findWronglyCharged = (tasks: Task[]) => [
  ...tasks.flatMap((task) =>
    isOver(task) && !isPaidOnce(task)
      ? `${task.id}, ${task.state}: ${task.holds} holds, ${task.captures} captures, ${task.releases} releases`
      : [],
  ),
  ...[...Map.groupBy(tasks, ({ prompt }) => prompt)].flatMap(([prompt, { length }]) =>
    length > 1 ? `"${prompt}" has ${length} tasks` : [],
  ),
]

const findDuplicateJobs = async ({ vendors }: FaultStack, { creates }: Client) => {
  const prompts = new Set(creates.map(({ prompt }) => prompt))
  const found: string[] = []
  for (const [name, vendor] of Object.entries(vendors)) {
    const jobs = (await vendor.jobs()).filter(({ prompt }) => prompts.has(prompt))
    for (const [prompt, { length }] of Map.groupBy(jobs, (job) => job.prompt)) {
      for (let extra = 1; extra < length; extra += 1) found.push(`${name} has ${length} jobs of "${prompt}"`)
    }
  }
  return found
}

const findStuck = ({ postgres }: FaultStack, { accountIds }: Client) =>
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

const findBrokenStreams = async ({ postgres }: FaultStack, { followed, accountIds }: Client) => {
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

/** With `mayFail`, a vendor has forgotten its jobs, so their tasks may fail. They must not be charged then. */
export const judge = async (
  stack: FaultStack,
  client: Client,
  crashes: string[],
  mayFail: boolean,
): Promise<Judged> => {
  const tasks = await readTasks(stack, client)
  const broken = await stack.withDatabase(brokenInvariants)
  const found: Record<keyof Damage, string[]> = {
    lost: await findLost(stack, client, tasks, mayFail),
    doubleCharged: [...findWronglyCharged(tasks), ...broken],
    stuck: (await findStuck(stack, client)).map(({ text }) => text),
    duplicateJobs: await findDuplicateJobs(stack, client),
    failedRequests: client.failures,
    crashed: crashes,
    brokenStreams: await findBrokenStreams(stack, client),
  }
  return {
    tasks: tasks.length,
    damage: Object.fromEntries(
      Object.entries(found).map(([name, { length }]) => [name, length]),
    ) as unknown as Damage,
    examples: Object.entries(found).flatMap(([name, each]) =>
      each.slice(0, examplesMax).map((example) => `${name}: ${example}`),
    ),
  }
}
