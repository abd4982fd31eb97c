import type { Database, Postgres } from '../../platform/postgres.ts'

/** A histogram bucket of job durations. Bucket `n` is around `bucketRatio ** n` seconds. */
export interface JobDurationRow {
  provider: string
  model: string
  bucket: number
  weight: number
}

export const readJobDurations = async (database: Database): Promise<JobDurationRow[]> => {
  const { rows } = await database.query<JobDurationRow & Record<string, unknown>>(
    'select provider, model, bucket, weight from job_durations order by provider, model, bucket',
  )
  return rows
}

/** Adds jobs of one provider and model, and multiplies the weight of older ones by `decay`. A lock serializes writers. */
export const addDuration = async (
  postgres: Postgres,
  { provider, model }: { provider: string; model: string },
  jobs: { bucket: number; weight: number }[],
  decay: number,
): Promise<void> => {
  await postgres.transaction(
    async (database) => {
      await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:job-durations', 0))`)
      await database.query(
        `update job_durations set weight = weight * $3 where provider = $1 and model = $2`,
        [provider, model, decay],
      )
      await database.query(
        `insert into job_durations (provider, model, bucket, weight)
         select $1, $2, bucket, weight from jsonb_to_recordset($3) as job (bucket smallint, weight double precision)
             on conflict (provider, model, bucket) do update set weight = job_durations.weight + excluded.weight`,
        [provider, model, JSON.stringify(jobs)],
      )
      await database.query(
        'delete from job_durations where provider = $1 and model = $2 and weight < 0.001',
        [provider, model],
      )
    },
    // Observations lost in a crash of the database are replaced by later jobs.
    { isDurable: false },
  )
}
