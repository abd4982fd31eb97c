import { afterAll, beforeAll, expect, test } from 'vitest'

import { startGateway, type TestGateway } from '../../../test/kit/start-gateway.ts'
import { createStartedTask } from '../../../test/kit/started-task.ts'
import { dayOfTaskId } from '../task-id.ts'
import { findProviderJob } from '../task-store.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

test('a remix finds the provider and the job of its source', async () => {
  const { postgres } = gateway.database
  const taskId = await createStartedTask(gateway, 'submitting')
  const upstream = { id: `job of ${taskId}` }
  await postgres.query(`update video_tasks set provider = 'vendor', upstream = $2 where id = $1`, [
    taskId,
    JSON.stringify(upstream),
  ])
  const day = dayOfTaskId(taskId) ?? ''
  expect(await findProviderJob(postgres, day, taskId)).toEqual({ provider: 'vendor', upstream })
  expect(await findProviderJob(postgres, day, 'another')).toBeUndefined()
})
