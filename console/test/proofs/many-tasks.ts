import { Kinora } from '@kinora/client'
/** Thousands of completed videos of one account, which all have the files of one that was really made. */
import pg from 'pg'

import type { SeededConsole } from '../kit/seeded-console.ts'

/** From the start of the month on, because the service has no partition for earlier tasks. */
const insertTasks = `
  with source as materialized (
    select * from video_tasks where id = $1
  ), given as materialized (
    select n, gen_random_uuid() as media,
           now() - (now() - greatest(now() - interval '1 day', date_trunc('month', now() at time zone 'utc') at time zone 'utc'))
             * (n::float8 / $4::int) as at
      from generate_series(1, $4::int) as n
  ), named as materialized (
    select *, (at at time zone 'utc')::date as day,
           'vidB-2:' || floor(extract(epoch from at))::bigint || '-00' || substr(md5(n::text), 1, 12) as id
      from given
  ), task as (
    insert into video_tasks (day, id, account_id, key_id, model, family, created_via, state, progress, video_order,
                             enhanced_prompt, provider, upstream, wallet, prices, hold_micros, captured_micros, media_id,
                             last_event, created_at, status_updated_at, finished_at)
    select named.day, named.id, $2, $3, source.model, source.family, source.created_via, source.state, 100,
           source.video_order || jsonb_build_object('prompt', 'A whale, take ' || n),
           'A whale, take ' || n, source.provider, source.upstream, source.wallet, source.prices, source.hold_micros,
           source.captured_micros, named.media, 3, at, at + interval '1 minute', at + interval '1 minute'
      from named, source
  )
  insert into media (id, account_id, task_id, kind, storage_key, content_type, size_bytes, sha256, width, height,
                     duration_ms, created_at, expires_at)
  select case when file.kind = 'video' then named.media else gen_random_uuid() end, $2, named.id, file.kind,
         file.storage_key, file.content_type, file.size_bytes, file.sha256, file.width, file.height, file.duration_ms,
         at, now() + interval '60 days'
    from named, media as file
   where file.task_id = $1 and file.kind in ('video', 'thumbnail')`

export const addManyTasks = async (
  { url, databaseUrl, customer, tasks }: SeededConsole,
  owner: { accountId: string; keyId: string },
  count: number,
): Promise<void> => {
  const source = tasks.completed[0] ?? ''
  const kinora = new Kinora({ baseUrl: url, apiKey: customer.key })
  // The picture is made when it is asked for.
  const thumbnail = await kinora.videos.content(source, { variant: 'thumbnail' })
  await thumbnail.bytes()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(insertTasks, [source, owner.accountId, owner.keyId, count])
    await client.query('analyze video_tasks, media')
  } finally {
    await client.end()
  }
}
