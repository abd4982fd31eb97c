import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { spoken } from '../kit/recording.ts'
import { audioForm } from '../kit/sound.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const count = 3
const segmentsEach = 5
const path = '/v1/audio/transcription-tasks'

/** Has five segments, one more than are transcribed concurrently. */
const recording = spoken(
  960,
  [200, 400, 600, 800].map((atSeconds) => ({ atSeconds, seconds: 2 })),
)

const create = async (stack: Stack, prompt: string): Promise<string> => {
  const { status, body } = await ask(`${stack.url}${path}`, stack.key, {
    method: 'POST',
    body: audioForm(recording, { model: 'asr-1', prompt }),
  })
  expect(status).toBe(200)
  return String(body['id'])
}

const counted = async (stack: Stack, text: string): Promise<number> => {
  const { rows } = await stack.database.postgres.query<{ count: number }>(text)
  return rows[0]?.count ?? 0
}
const completed = (stack: Stack) =>
  counted(stack, `select count(*) from transcription_tasks where state = 'completed'`)
const transcribed = (stack: Stack) =>
  counted(stack, `select count(*) from transcription_segments where transcript is not null`)

const allCompleted = (stack: Stack) =>
  stack.until('all tasks are completed', async () => (await completed(stack)) === count)

/** Expects that each task has ended once, was charged once, and has its complete text. */
const expectWhole = async (stack: Stack, ids: string[]) => {
  await stack.assertLedger({ completed: 0, failed: 0, captures: count, releases: 0 })
  expect(await counted(stack, 'select count(*) from open_transcriptions')).toBe(0)
  expect(await counted(stack, 'select sum(captured_micros) as count from transcription_tasks')).toBe(
    count * 96_000,
  )
  for (const id of ids) {
    const { body } = await ask(`${stack.url}${path}/${id}/transcript`, stack.key)
    expect(String(body['text']).match(/vendor transcript of \d+ bytes/g)?.length).toBe(segmentsEach)
  }
}

test('running tasks survive the loss of the worker, the API process and the engine data', async () => {
  await using stack = await startStack()
  const ids = await Promise.all(Array.from({ length: count }, () => create(stack, 'vendor:slow=2500')))
  await stack.until(
    'the vendor has segments of more than one task',
    async () => stack.vendor.transcriptions().length > 4,
  )
  await stack.workers[0]?.kill()
  await stack.workers[0]?.start()
  await stack.until('a segment is transcribed', async () => (await transcribed(stack)) > 0)
  await stack.api.kill()
  const pid = stack.engine.pid()
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
  await stack.engine.stop()
  await stack.engine.empty()
  expect(await completed(stack)).toBeLessThan(count)
  await stack.engine.start()
  await stack.api.start()
  const ms = await allCompleted(stack)
  console.log(
    `after the loss of worker, API and engine, all ${count} tasks completed in ${Math.round(ms)} ms`,
  )
  await expectWhole(stack, ids)
  // Only the segments in progress at the time of a crash are repeated.
  const requests = stack.vendor.transcriptions().length
  console.log(`the vendor received ${requests} requests for ${count * segmentsEach} segments`)
  expect(requests).toBeLessThanOrEqual(count * segmentsEach + 2 * 8)
})

test('tasks complete with a replay at each step and a vendor that fails at first', async () => {
  await using stack = await startStack({ alwaysReplay: true })
  const ids = await Promise.all(Array.from({ length: count }, () => create(stack, 'vendor:500-once')))
  await allCompleted(stack)
  await expectWhole(stack, ids)
})
