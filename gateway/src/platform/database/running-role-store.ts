/**
 * Which roles run on the same database, and whether each uses Redis. Every connection of a process has this as its name,
 * so PostgreSQL itself knows which processes run, and forgets them with their connections.
 */
import type { Database } from '../postgres.ts'

export interface RunningRole {
  role: 'api' | 'worker'
  usesRedis: boolean
}

export const connectionNameOf = ({ role, usesRedis }: RunningRole): string =>
  `kinora ${role} ${usesRedis ? 'with' : 'without'} Redis`

const roles = ['api', 'worker'] as const

/** The running roles that use Redis although this one does not, or the other way round. */
export const findRolesThatDiffer = async (
  database: Database,
  { usesRedis }: RunningRole,
): Promise<RunningRole['role'][]> => {
  const names = roles.map((role) => connectionNameOf({ role, usesRedis: !usesRedis }))
  const { rows } = await database.query<{ name: string }>(
    `select distinct split_part(application_name, ',', 1) as name from pg_stat_activity
      where datname = current_database() and split_part(application_name, ',', 1) = any($1)`,
    [names],
  )
  return roles.filter((_, index) => rows.some(({ name }) => name === names[index]))
}
