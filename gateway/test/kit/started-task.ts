import { ask, form } from './answers.ts'
import { createAccount, createKey } from './factories.ts'
import type { TestGateway } from './start-gateway.ts'

/** Creates a video task, which is then in this stage of its first run; no engine executes it. */
export const createStartedTask = async (
  { url, database: { postgres } }: Pick<TestGateway, 'url' | 'database'>,
  stage: 'starting' | 'submitting',
): Promise<string> => {
  const key = await createKey(postgres, await createAccount(postgres, { balance: 10 }))
  const { body } = await ask(`${url}/v1/videos`, key.text, {
    method: 'POST',
    body: form({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  const taskId = String(body['id'])
  await postgres.query('update open_tasks set stage = $2, run = 1 where task_id = $1', [taskId, stage])
  return taskId
}
