/** The fair queue of accepted tasks that wait for a slot. The rule is in docs/decisions/0015-fair-queue.md. */
import type { Run } from '../../platform/engine/run-key.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Decision } from '../../routing/route.ts'
import { claimChanges } from '../../tasks/queue-store.ts'
import type { VideoOrder } from '../task.ts'
import { chooseTasks, startsMaxOf, type Choice, type Queue } from './choose-tasks.ts'
import type { QueueLimits } from './queue-limits.ts'
import { readMoreHeads, readWaitingKeys } from './waiting-keys-store.ts'

// The statements of the queue must always walk their indexes in order: a queue grows faster than the statistics, and a
// plan made for a short queue would read a long one completely. With sorts disabled, the estimated cost of the remaining
// ones would trigger JIT compilation, so that is off as well.
const plainPlans = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
}

/**
 * Makes this transaction the only one that starts tasks of a provider. The engine runs one tick at a time, but a worker that it
 * considers dead may still be running its own.
 */
export const lockQueue = async (database: Database, provider: string): Promise<void> => {
  const settings = Object.entries(plainPlans)
  await database.query(
    `select pg_advisory_xact_lock(hashtextextended('kinora:queue:' || $1, 0)),
            (select count(set_config(name, value, true)) from unnest($2::text[], $3::text[]) as s (name, value))`,
    [provider, settings.map(([name]) => name), settings.map(([, value]) => value)],
  )
}

/** Makes this transaction the only one that counts the in-flight tasks of these accounts. */
const lockAccounts = async (database: Database, accountIds: string[]): Promise<void> => {
  await database.query(
    `select pg_advisory_xact_lock(hashtextextended('kinora:queue-of-account:' || id, 0))
       from (select id from unnest($1::text[]) as id order by id) accounts`,
    [accountIds],
  )
}

interface Chosen {
  choices: Choice[]
  /** An account waits although there is a slot, until some of its tasks at other providers end. */
  isThrottled: boolean
}

/** How many more heads are read of a key whose heads do not suffice. */
const readGrowth = 4

/**
 * Chooses the tasks to start: those with the earliest virtual start. It reads the heads of each key, and more only of keys of
 * which all may start. If `locked` is given, every other account stays so far below its limits that starts at other providers
 * cannot exceed them.
 */
export const choose = async (
  database: Database,
  queue: Queue,
  limit: number,
  limits: QueueLimits,
  locked: string[] | undefined,
): Promise<Chosen> => {
  const read = await readWaitingKeys(database, queue, limit, limits, locked)
  const reserveOf = (accountId: string) =>
    locked === undefined || locked.includes(accountId) ? 0 : queue.slotsElsewhere
  const { free } = read
  let { keys } = read
  let { choices, unread } = chooseTasks(keys, queue, free, reserveOf)
  while (unread.length > 0) {
    const shareOfFree = Math.ceil((2 * free) / unread.length)
    const more = new Map(
      unread.map((key) => [
        key,
        {
          ...key,
          startsMax: startsMaxOf(key, free, reserveOf),
          readMax: Math.max(key.readMax * readGrowth, shareOfFree),
        },
      ]),
    )
    const heads = await readMoreHeads(database, queue, [...more.values()])
    for (const [index, key] of more.values().toArray().entries()) key.heads = heads[index] ?? []
    keys = keys.map((key) => more.get(key) ?? key)
    ;({ choices, unread } = chooseTasks(keys, queue, free, reserveOf))
  }
  const within = withinCapacity(choices, queue.capacityOf)
  const isThrottled = keys.some(
    ({ isElsewhere, capacity, keyCapacity }) =>
      isElsewhere && Math.min(capacity ?? Infinity, keyCapacity ?? Infinity) <= 0,
  )
  return { choices: within, isThrottled: isThrottled || within.length < choices.length }
}

/** The first choices of each model, up to its capacity. */
const withinCapacity = (choices: Choice[], capacityOf: Map<string, number>): Choice[] => {
  const left = new Map(capacityOf)
  return choices.filter(({ model }) => {
    const capacity = left.get(model)
    if (capacity !== undefined) left.set(model, capacity - 1)
    return capacity === undefined || capacity > 0
  })
}

/** Starts the chosen tasks and advances the virtual times of their accounts and keys. */
const start = async (
  database: Database,
  provider: string,
  choices: Choice[],
  tickId: string,
): Promise<(Run & { model: string })[]> => {
  const { rows } = await database.query<{ taskId: string; run: number; model: string }>(
    `with started as (
       update open_tasks o set ${claimChanges('$4')}
         from jsonb_to_recordset($2::jsonb) as c
           ("taskId" text, run bigint, model text, "accountId" uuid, "keyId" uuid,
            "virtualStart" bigint, "virtualFinish" bigint, "keyVirtualStart" bigint, "keyVirtualFinish" bigint)
        where o.task_id = any ($3) and o.task_id = c."taskId" and o.run = c.run
          -- A webhook may have named its job meanwhile. As an expression, because the indexes of the queue are longer ways.
          and o.stage || '' = 'accepted'
       returning c.*, o.run as started
     ), shared as (
       insert into queue_shares (queue, owner, virtual_start, virtual_finish)
       select $1, "accountId", max("virtualStart"), max("virtualFinish") from started group by "accountId"
       union all
       select $1 || '/' || "accountId", "keyId", max("keyVirtualStart"), max("keyVirtualFinish") from started
        group by "accountId", "keyId"
       on conflict (queue, owner) do update
         set virtual_start = excluded.virtual_start, virtual_finish = excluded.virtual_finish
     ), counted as (
       -- A task that a busy provider returned was counted before, and costs nothing now.
       insert into queue_starts (queue, model, starts)
       select $1, model, count(*) from started where "virtualFinish" > "virtualStart" group by model
       on conflict (queue, model) do update set starts = queue_starts.starts + excluded.starts
     )
     select "taskId", started as run, model from started`,
    [provider, JSON.stringify(choices), choices.map(({ taskId }) => taskId), tickId],
  )
  return rows
}

/**
 * Deletes shares that the virtual clock has passed, whose owners would start like new ones, and the counts of owners without
 * tasks in flight.
 */
const forgetPassed = async (database: Database, provider: string): Promise<void> => {
  await database.query(
    `with passed as (
       delete from queue_shares
        where queue = $1 and virtual_finish < (select max(virtual_start) from queue_shares where queue = $1)
        returning owner
     ), without_tasks as (
       select account_id, key_id, model from tasks_in_flight where provider = $1 and tasks = 0 for update skip locked
     ), forgotten as (
       delete from tasks_in_flight f using without_tasks w
        where f.provider = $1 and f.account_id = w.account_id and f.key_id = w.key_id and f.model = w.model
     )
     delete from queue_shares keys using passed where keys.queue = $1 || '/' || passed.owner`,
    [provider],
  )
}

/**
 * Claims waiting tasks for the free slots, in the transaction of a tick. Two providers together
 * could exceed the limit of an account, so an account that is near its limit is locked first.
 */
export const claimAccepted = async (
  database: Database,
  queue: Queue,
  limit: number,
  limits: QueueLimits,
  tickId: string,
): Promise<{ starts: (Run & { model: string })[]; isThrottled: boolean }> => {
  let { choices, isThrottled } = await choose(database, queue, limit, limits, undefined)
  const nearCap = new Set(choices.flatMap(({ accountId, isNearCap }) => (isNearCap ? accountId : [])))
  if (nearCap.size > 0) {
    await lockAccounts(database, [...nearCap])
    const locked = await choose(database, queue, limit, limits, [...nearCap])
    // If another provider was faster, some slots stay free. The next tick fills them, because the accounts that could
    // use them are not locked.
    isThrottled = locked.isThrottled || locked.choices.length < choices.length
    choices = locked.choices
  }
  if (choices.length === 0) return { starts: [], isThrottled }
  const starts = await start(database, queue.provider, choices, tickId)
  await forgetPassed(database, queue.provider)
  return { starts, isThrottled }
}

/** The number of in-flight tasks of each of these models at a provider. */
export const countInFlight = async (
  database: Database,
  provider: string,
  models: string[],
): Promise<Map<string, number>> => {
  if (models.length === 0) return new Map()
  const { rows } = await database.query<{ model: string; tasks: number }>(
    `select model, sum(tasks)::bigint as tasks from tasks_in_flight
      where provider = $1 and model = any ($2) group by model`,
    [provider, models],
  )
  return new Map(rows.map(({ model, tasks }) => [model, tasks]))
}

export interface WaitingTask {
  taskId: string
  day: string
  model: string
  order: VideoOrder
  tried: string[]
}

/**
 * Waiting tasks that may move to another provider: of these models or of all, accepted so long ago, not remixes, and without
 * a submit of unknown outcome.
 */
export const findMovable = async (
  database: Database,
  provider: string,
  { models, ageSecondsMin = 0 }: { models?: string[]; ageSecondsMin?: number },
  limit: number,
): Promise<WaitingTask[]> => {
  const { rows } = await database.query<WaitingTask & Record<string, unknown>>(
    `select o.task_id as "taskId", o.day, o.model, o.tried_providers as tried, t.video_order as "order"
       from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
      where o.provider = $1 and o.stage = 'accepted' and ($2::text[] is null or o.model = any ($2))
        and o.outcome_unknown_since is null and not t.video_order ? 'remixOf'
        and o.accepted_at <= now() - make_interval(secs => $4)
      limit $3`,
    [provider, models ?? null, limit, ageSecondsMin],
  )
  return rows
}

export interface Move {
  taskId: string
  day: string
  provider: string
  shard: number
  decision: Decision
  /** What the task costs there; undefined if unknown. */
  costMicros: number | undefined
}

/** Moves waiting tasks to other providers, where they may start at once. */
export const moveWaiting = async (database: Database, from: string, moves: Move[]): Promise<void> => {
  await database.query(
    `with moved as (
       update open_tasks o
          set provider = m.provider, shard = m.shard, decision = m.decision, cost_micros = m."costMicros", not_before = now()
         from jsonb_to_recordset($2::jsonb) as m
           ("taskId" text, day date, provider text, shard smallint, decision jsonb, "costMicros" bigint)
        where o.task_id = m."taskId" and o.provider = $1 and o.stage = 'accepted' and o.outcome_unknown_since is null
        returning o.day, o.task_id, o.provider
     )
     update video_tasks t set provider = moved.provider
       from moved where t.day = moved.day and t.id = moved.task_id`,
    [from, JSON.stringify(moves)],
  )
}

/** The number of waiting tasks of each account, counted up to `max`. */
export const countWaiting = async (
  database: Database,
  accountIds: string[],
  max: number,
): Promise<Map<string, number>> => {
  const { rows } = await database.query<{ accountId: string; waiting: number }>(
    `select account.id as "accountId", queue.waiting
       from unnest($1::uuid[]) as account (id)
       cross join lateral (
         select count(*) as waiting
           from (select from open_tasks where stage = 'accepted' and account_id = account.id limit $2) tasks
       ) queue`,
    [accountIds, max],
  )
  return new Map(rows.map(({ accountId, waiting }) => [accountId, waiting]))
}
