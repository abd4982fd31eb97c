import type { Database } from '../platform/postgres.ts'

/** Ages of objects, youngest first. */
const ages = ['under 1 day', '1 to 7 days', '7 to 30 days', 'over 30 days'] as const

export interface MediaUsage {
  accountId: string
  /** Null if the account was deleted. */
  accountName: string | null
  kind: string
  age: (typeof ages)[number]
  objects: number
  /** 0 for recordings, whose size is not recorded. */
  sizeBytes: number
}

/** What the database has stored, by account, kind and age. */
export const readMediaUsage = async (database: Database): Promise<MediaUsage[]> => {
  const { rows } = await database.query<MediaUsage & Record<string, unknown>>(
    `select m.account_id as "accountId", a.name as "accountName", m.kind,
            ($1::text[])[1 + width_bucket(extract(epoch from now() - m.created_at) / 86400, array[1, 7, 30]::numeric[])] as age,
            count(*) as objects, sum(m.size_bytes) as "sizeBytes"
       from (select account_id, kind, created_at, size_bytes from media where removed_at is null
             union all
             select account_id, 'recording', created_at, 0 from transcription_tasks where recording_key is not null) m
       left join accounts a on a.id = m.account_id
      group by 1, 2, 3, 4`,
    [ages],
  )
  return rows
}
