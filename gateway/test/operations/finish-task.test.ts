/** Tasks that end at the same time. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createFinishTask } from '../../src/videos/lifecycle/settle-video.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { findTask, recordEnhanced } from '../../src/videos/task-store.ts'
import type { Ending } from '../../src/videos/task.ts'
import { ask, form } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const failed: Ending = { kind: 'failed', code: 'upstream_error', message: 'It broke.' }

const createTasks = async (count: number) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance: 100 })
  const key = await createKey(postgres, accountId)
  const create = async () => {
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }
    const { body } = await ask(`${gateway.url}/v1/videos`, key.text, { method: 'POST', body: form(order) })
    return String(body['id'])
  }
  return { accountId, ids: await Promise.all(Array.from({ length: count }, create)) }
}
const endingOf = (id: string, ending: Ending = failed) => ({ day: dayOfTaskId(id) ?? '', id, ending })

const statesOf = async (ids: string[]) => {
  const { rows } = await gateway.database.postgres.query<{ state: string; events: number; isOpen: boolean }>(
    `select state, (select count(*)::int from task_events e where e.day = t.day and e.task_id = t.id) as events,
            exists (select from open_tasks where task_id = t.id) as "isOpen"
       from unnest($1::text[]) with ordinality as given (id, position) join video_tasks t using (id) order by position`,
    [ids],
  )
  return rows
}
const transactionsOf = async (ids: string[]) => {
  const { rows } = await gateway.database.postgres.query<{ count: number }>(
    'select count(distinct xmin::text)::int as count from video_tasks where id = any($1)',
    [ids],
  )
  return rows[0]?.count
}

test('they share a commit, and each ends once with its own event and movement', async () => {
  const { accountId, ids } = await createTasks(6)
  const finishTask = createFinishTask(gateway.database.postgres)
  const finished = await Promise.all(ids.map((id) => finishTask(endingOf(id))))
  expect(finished.map((task) => task?.accountId)).toEqual(ids.map(() => accountId))
  expect(await statesOf(ids)).toEqual(ids.map(() => ({ state: 'failed', events: 2, isOpen: false })))
  expect(await transactionsOf(ids)).toBe(1)
  expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  const again = await Promise.all(ids.map((id) => finishTask(endingOf(id))))
  expect(again).toEqual(ids.map(() => undefined))
})

test('a task given twice ends for the first caller only', async () => {
  const { ids } = await createTasks(2)
  const [one = '', other = ''] = ids
  const finishTask = createFinishTask(gateway.database.postgres)
  const finished = await Promise.all([one, other, one].map((id) => finishTask(endingOf(id))))
  expect(finished.map((task) => task !== undefined)).toEqual([true, true, false])
  expect(await statesOf(ids)).toEqual(ids.map(() => ({ state: 'failed', events: 2, isOpen: false })))
  expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
})

test('a task whose file is missing stays open, and the others end', async () => {
  const { ids } = await createTasks(3)
  const [missing = '', ...others] = ids
  const finishTask = createFinishTask(gateway.database.postgres)
  const mediaId = '00000000-0000-7000-8000-000000000000'
  const endings = [endingOf(missing, { kind: 'completed', mediaId }), ...others.map((id) => endingOf(id))]
  const finished = await Promise.all(endings.map(finishTask))
  expect(finished.map((task) => task !== undefined)).toEqual([false, true, true])
  expect(await statesOf([missing])).toEqual([{ state: 'pending', events: 1, isOpen: true }])
})

test('a task whose money cannot move fails alone', async () => {
  const { postgres } = gateway.database
  const broken = await createTasks(1)
  const { ids } = await createTasks(2)
  // The hold of this account would become negative, which a check of the database forbids.
  await postgres.query('update balances set held_micros = 0 where account_id = $1', [broken.accountId])
  const finishTask = createFinishTask(postgres)
  const results = await Promise.allSettled([...broken.ids, ...ids].map((id) => finishTask(endingOf(id))))
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(await statesOf([...broken.ids, ...ids])).toMatchObject([
    { state: 'pending', isOpen: true },
    { state: 'failed', isOpen: false },
    { state: 'failed', isOpen: false },
  ])
})

test('a task stores its prompt once, from its creation to its end, and returns it as the enhanced prompt', async () => {
  const { postgres } = gateway.database
  const { ids } = await createTasks(2)
  const [same = '', enhanced = ''] = ids
  await recordEnhanced(postgres, dayOfTaskId(enhanced) ?? '', enhanced, 'A blue whale at sunset')
  const copiesOf = async (id: string) => {
    const { rows } = await postgres.query<{ row: string }>(
      'select t::text as row from video_tasks t where id = $1',
      [id],
    )
    return rows[0]?.row.match(/A whale/g)?.length
  }
  expect(await copiesOf(same)).toBe(1)
  const finishTask = createFinishTask(postgres)
  await Promise.all(ids.map((id) => finishTask(endingOf(id))))
  expect(await copiesOf(same)).toBe(1)
  const promptOf = async (id: string) => (await findTask(postgres, dayOfTaskId(id) ?? '', id))?.enhancedPrompt
  expect(await promptOf(same)).toBe('A whale')
  expect(await promptOf(enhanced)).toBe('A blue whale at sunset')
})
