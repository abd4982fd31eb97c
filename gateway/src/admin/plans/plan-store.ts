import type { Database } from '../../platform/postgres.ts'
import { filter, microsecondsOf, timeOf } from '../filter.ts'

export interface PlanTerms {
  name: string
  cycleQuotaMicros: number
  cycleDays: number
}

export interface PlanRecord extends PlanTerms {
  id: string
  subscribers: number
  createdAt: Date
  createdMicroseconds: number
}

const plansWhere = (where: string) =>
  `select p.id, p.name, p.cycle_quota_micros as "cycleQuotaMicros", p.cycle_days as "cycleDays",
          p.created_at as "createdAt", ${microsecondsOf('p.created_at')} as "createdMicroseconds",
          (select count(*) from subscriptions s where s.plan_id = p.id and s.ends_at > now()) as subscribers
     from plans p ${where}`

export const findPlan = async (database: Database, id: string): Promise<PlanRecord | undefined> => {
  const { rows } = await database.query<PlanRecord & Record<string, unknown>>(plansWhere('where p.id = $1'), [
    id,
  ])
  return rows[0]
}

/** Reads a plan and locks it against changes and new subscriptions until the transaction ends. */
export const lockPlan = async (database: Database, id: string): Promise<PlanRecord | undefined> => {
  await database.query('select from plans where id = $1 for update', [id])
  return findPlan(database, id)
}

export const listPlanRecords = async (
  database: Database,
  given: { after: string[] | undefined; limit: number },
): Promise<PlanRecord[]> => {
  const { where, values } = filter([
    [`(p.created_at, p.id) < (${timeOf('?')}, ?::uuid)`, ...(given.after ?? [])],
  ])
  const { rows } = await database.query<PlanRecord & Record<string, unknown>>(
    `${plansWhere(where)} order by p.created_at desc, p.id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}

const isNameTaken = (error: unknown) => (error as { code?: unknown }).code === '23505'

/** Runs an insert or update; false if another plan has the name. */
const withFreeName = async (write: Promise<unknown>): Promise<boolean> => {
  try {
    await write
    return true
  } catch (error) {
    if (isNameTaken(error)) return false
    throw error
  }
}

export const addPlan = (database: Database, id: string, plan: PlanTerms): Promise<boolean> =>
  withFreeName(
    database.query('insert into plans (id, name, cycle_quota_micros, cycle_days) values ($1, $2, $3, $4)', [
      id,
      plan.name,
      plan.cycleQuotaMicros,
      plan.cycleDays,
    ]),
  )

export const changePlan = (database: Database, id: string, plan: PlanTerms): Promise<boolean> =>
  withFreeName(
    database.query('update plans set name = $2, cycle_quota_micros = $3, cycle_days = $4 where id = $1', [
      id,
      plan.name,
      plan.cycleQuotaMicros,
      plan.cycleDays,
    ]),
  )

/** Deletes a plan without subscribers. Ended subscriptions lose their reference to it. */
export const removePlan = async (database: Database, id: string): Promise<void> => {
  await database.query('update subscriptions set plan_id = null where plan_id = $1 and ends_at <= now()', [
    id,
  ])
  await database.query('delete from plans where id = $1', [id])
}
