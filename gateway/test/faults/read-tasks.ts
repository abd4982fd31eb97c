/** The tasks of the customers, with their money and their file. */
import type { Client } from './client.ts'
import type { WatchedStack } from './fault-stack.ts'

export interface Task {
  id: string
  accountId: string
  prompt: string
  state: string
  error: string | null
  storageKey: string | null
  sha256: string | null
  holds: number
  captures: number
  releases: number
}

export const readTasks = ({ postgres }: WatchedStack, { accountIds }: Client) =>
  postgres.query<Task & Record<string, unknown>>(
    `select t.id, t.account_id as "accountId", t.video_order ->> 'prompt' as prompt, t.state, t.error_code as error,
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
