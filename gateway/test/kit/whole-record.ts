/** Everything that a request may leave behind, in any table or file. */
import type { TestGateway } from './start-gateway.ts'
import { listFiles } from './stored-media.ts'

type Recorded = Pick<TestGateway, 'database' | 'mediaStore' | 'spool'>

const tablesOf = async ({ database: { postgres } }: Pick<Recorded, 'database'>): Promise<string[]> => {
  const { rows } = await postgres.query<{ name: string }>(
    `select relname as name from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
      order by relname`,
  )
  return rows.map(({ name }) => name)
}

/** These change without a request that creates or changes something. */
const leftOut = ['request_log', 'service_days', 'service_states']

/** The row count and a digest of each table, and the files. */
export const wholeRecordOf = async (gateway: Recorded) => {
  const { postgres } = gateway.database
  const digests = (await tablesOf(gateway))
    .filter((name) => !leftOut.includes(name))
    .map(
      (name) =>
        `(select count(*) || ' ' || coalesce(sum(hashtextextended((to_jsonb(t) - 'last_used_at')::text, 0)), 0)
            from ${name} t) as ${name}`,
    )
  const { rows } = await postgres.query<Record<string, string>>(`select ${digests.join(', ')}`)
  return { ...rows[0], files: await listFiles(gateway) }
}

/** The tables that contain a text in any column. */
export const tablesWith = async (gateway: Pick<Recorded, 'database'>, text: string): Promise<string[]> => {
  const tables = await tablesOf(gateway)
  const finds = tables.map(
    (name) => `exists (select from ${name} t where strpos(to_jsonb(t)::text, $1) > 0) as ${name}`,
  )
  const { rows } = await gateway.database.postgres.query<Record<string, boolean>>(
    `select ${finds.join(', ')}`,
    [text],
  )
  return tables.filter((name) => rows[0]?.[name] === true)
}

/** The names of all columns. */
export const columnsOf = async ({ database }: Pick<Recorded, 'database'>): Promise<string[]> => {
  const { rows } = await database.postgres.query<{ name: string }>(
    `select distinct column_name as name from information_schema.columns where table_schema = 'public' order by 1`,
  )
  return rows.map(({ name }) => name)
}
