/** The settings of PostgreSQL that keep what customers send out of its log. */
import type { Database } from '../postgres.ts'

/**
 * Values are only ever parameters of our statements, and messages name tables and constraints. So these settings suffice,
 * also if statements are logged.
 */
const wanted = {
  // Otherwise an error quotes the row or the key in its detail, and parameters in its context.
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
}

/** The statements that set what differs, for the database of this connection. */
export const findLoggingFixes = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ fix: string }>(
    `select format('alter database %I set %s = %L;', current_database(), name, wanted) as fix
       from unnest($1::text[], $2::text[]) as given (name, wanted)
      where current_setting(name, true) <> wanted`,
    [Object.keys(wanted), Object.values(wanted)],
  )
  return rows.map(({ fix }) => fix)
}
