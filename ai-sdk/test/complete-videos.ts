/** Completes every video of a gateway without a provider or an engine, soon after it was accepted. */
import { setInterval } from 'node:timers/promises'

import type { TestGateway } from '../../gateway/test/kit/start-gateway.ts'
import { startTaskLife } from '../../gateway/test/kit/task-life.ts'

const everyMs = 50

export const completeVideos = (gateway: TestGateway): AsyncDisposable => {
  const life = startTaskLife(gateway)
  const stop = new AbortController()
  const completeOpen = async () => {
    const { rows } = await gateway.database.postgres.query<{ id: string; account_id: string }>(
      'select task_id as id, account_id from open_tasks',
    )
    for (const { id, account_id: accountId } of rows) {
      await life.begin(id)
      await life.complete(id, accountId)
    }
  }
  const work = async () => {
    for await (const _ of setInterval(everyMs, undefined, { signal: stop.signal })) await completeOpen()
  }
  // An error of the work is unhandled, which fails the test at once instead of after its time limit.
  const running = work().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await running
      life.close()
    },
  }
}
