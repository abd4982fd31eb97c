import { expect, test } from 'vitest'

import { brokenInvariants } from '../kit/ledger.ts'
import { startStack } from '../kit/stack.ts'

test('a speech is not charged if its API process is killed, and its hold is released later', async () => {
  await using stack = await startStack()
  const { postgres } = stack.database
  const heldMicros = async () => {
    const { rows } = await postgres.query<{ held: number }>('select sum(held_micros) as held from balances')
    return rows[0]?.held
  }
  const response = await fetch(`${stack.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'chat-4o-mini-tts-2025-12-15',
      input: 'On and on and on vendor:stall',
      voice: 'alloy',
      response_format: 'pcm',
    }),
  })
  const outcome = response.arrayBuffer().then(
    () => 'complete',
    () => 'interrupted',
  )
  expect(await heldMicros()).toBeGreaterThan(0)
  await stack.api.kill()
  expect(await outcome).toBe('interrupted')
  await expect.poll(() => stack.vendor.speeches()[0]?.state).toBe('abandoned')

  // The hold has not lapsed yet, so a worker does not release it. Then the test skips the waiting time.
  const [worker] = stack.workers
  await worker?.stop()
  await worker?.start()
  expect(await heldMicros()).toBeGreaterThan(0)
  await postgres.query(`update metered_requests set lease_expires_at = now() - interval '1 s'`)
  await worker?.stop()
  await worker?.start()
  await stack.until('the hold is released', async () => (await heldMicros()) === 0)
  const { rows } = await postgres.query('select outcome, captured_micros as captured from metered_requests')
  expect(rows).toEqual([{ outcome: 'abandoned', captured: 0 }])
  expect(await brokenInvariants(postgres)).toEqual([])
})
