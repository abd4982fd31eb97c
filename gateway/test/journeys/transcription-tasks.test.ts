import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { spoken } from '../kit/recording.ts'
import { audioForm } from '../kit/sound.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const count = 3
const segmentsEach = 5
const path = '/v1/audio/transcription-tasks'

/** Cut into five pieces, one more than are written down at once. */
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
const written = (stack: Stack) =>
  counted(stack, `select count(*) from transcription_segments where transcript is not null`)

const allCompleted = (stack: Stack) =>
  stack.until('all tasks are completed', async () => (await completed(stack)) === count)

/** Each task ended once, was charged once, and has all of its text. */
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

test('tasks under way survive the death of the worker, of the API, and of all that the engine knew', async () => {
  await using stack = await startStack()
  const ids = await Promise.all(Array.from({ length: count }, () => create(stack, 'vendor:slow=2500')))
  await stack.until(
    'the vendor is at pieces of more than one task',
    async () => stack.vendor.transcriptions().length > 4,
  )
  await stack.workers[0]?.kill()
  await stack.workers[0]?.start()
  await stack.until('a piece is written down', async () => (await written(stack)) > 0)
  await stack.api.kill()
  const pid = stack.engine.pid()
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
  await stack.engine.stop()
  await stack.engine.empty()
  expect(await completed(stack)).toBeLessThan(count)
  await stack.engine.start()
  await stack.api.start()
  const ms = await allCompleted(stack)
  console.log(`worker, API and engine lost on the way: all ${count} completed ${Math.round(ms)} ms later`)
  await expectWhole(stack, ids)
  // What was under way at a death is asked for again, and nothing else.
  const asked = stack.vendor.transcriptions().length
  console.log(`the vendor was asked ${asked} times for ${count * segmentsEach} pieces`)
  expect(asked).toBeLessThanOrEqual(count * segmentsEach + 2 * 8)
})

test('with every run replayed from its journal at each step, and a vendor that fails at first', async () => {
  await using stack = await startStack({ alwaysReplay: true })
  const ids = await Promise.all(Array.from({ length: count }, () => create(stack, 'vendor:500-once')))
  await allCompleted(stack)
  await expectWhole(stack, ids)
})
