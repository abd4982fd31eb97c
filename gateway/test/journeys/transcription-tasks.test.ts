import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { findUndescribed, killAtEffects, type KillPoint } from '../kit/kill-at-effects.ts'
import { startObservedStack } from '../kit/observed-stack.ts'
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

const create = async (stack: Stack, prompt: string, file = recording): Promise<string> => {
  const { status, body } = await ask(`${stack.url}${path}`, stack.key, {
    method: 'POST',
    body: audioForm(file, { model: 'asr-1', prompt }),
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

/** The number of segments that the transcript of a task has. */
const transcribedSegments = async (stack: Stack, id: string): Promise<number | undefined> => {
  const { body } = await ask(`${stack.url}${path}/${id}/transcript`, stack.key)
  return String(body['text']).match(/vendor transcript of \d+ bytes/g)?.length
}

/** Expects that each task has ended once, was charged once, and has its complete text. */
const expectWhole = async (stack: Stack, ids: string[]) => {
  await stack.assertLedger({ completed: 0, failed: 0, captures: count, releases: 0 })
  expect(await counted(stack, 'select count(*) from open_transcriptions')).toBe(0)
  expect(await counted(stack, 'select sum(captured_micros) as count from transcription_tasks')).toBe(
    count * 96_000,
  )
  expect(ids).toHaveLength(count)
  for (const id of ids) expect(await transcribedSegments(stack, id)).toBe(segmentsEach)
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

/** Where the worker is killed, in the order of a run. `after` an effect it has happened, and the worker does not know. */
const points = {
  'before the plan is saved': {
    ...{ at: 'database', action: /insert into transcription_segments/, when: 'before', order: 'late' },
  },
  'after the plan is saved': {
    ...{ at: 'database', action: /insert into transcription_segments/, when: 'after', order: 'late' },
  },
  'after the vendor has transcribed a segment': {
    ...{ at: 'vendor', action: /^POST \/v1\/audio\/transcriptions$/, when: 'after' },
  },
  'after a transcript is saved': {
    ...{ at: 'database', action: /update transcription_segments set transcript/, when: 'after' },
  },
  'after a segment is postponed': {
    ...{ at: 'database', action: /update transcription_segments set not_before/, when: 'after' },
  },
  'after the task is back in the queue': { at: 'database', action: /set stage = 'accepted'/, when: 'after' },
  'after the task has ended': {
    ...{ at: 'database', action: /delete from open_transcriptions/, when: 'after' },
  },
  'before the recording is forgotten': {
    // The dispatcher tries it as well, so nothing else would start.
    ...{ at: 'database', action: /set recording_key = null/, when: 'before', order: 'alone' },
  },
} as const satisfies Record<string, KillPoint>
type PointName = keyof typeof points

/** Effects after which a run has done nothing more than before, and a new run for a lost one. */
const otherActions = [
  /update open_transcriptions set stage = 'working'/,
  /update transcription_tasks t set state = 'processing'/,
  /set run = .* stage = case o\.stage/,
]

const plan = ['before the plan is saved', 'after the plan is saved'] as const
const send = ['after the vendor has transcribed a segment', 'after a transcript is saved'] as const
const end = ['after the task has ended', 'before the recording is forgotten'] as const

/** What the vendor does, and how the task ends. */
const paths: { directive: string; ends: string; points: readonly PointName[] }[] = [
  { directive: '', ends: 'completed', points: [...plan, ...send, ...end] },
  {
    ...{ directive: 'vendor:500-once', ends: 'completed' },
    points: ['after a segment is postponed'],
  },
  {
    // Refuses both segments. After a failure, the wait may be over before the other segment is, and the run goes on.
    ...{ directive: 'vendor:busy-once', ends: 'completed' },
    points: ['after the task is back in the queue'],
  },
  {
    ...{ directive: 'vendor:moderated', ends: 'content_policy_violation' },
    points: ['after the task has ended'],
  },
]

test('every path has the same end and one charge if the worker dies between two effects', async () => {
  await using observed = await startObservedStack({ vendor: {} })
  const { stack, holds } = observed
  const tasks = paths
    .flatMap((path) => path.points.map((point) => ({ ...path, point })))
    .map((task, index) => ({ ...task, index, prompt: `${task.directive} (${index})`.trim() }))
  expect(new Set(tasks.map(({ point }) => point))).toEqual(new Set(Object.keys(points)))
  const kills = tasks.map(({ point, prompt, index }) => ({
    ...{ name: `${prompt} ${point}`, point: points[point], marker: `(${index})` },
    // Two segments. Each recording is another one, because the vendor fails once for each.
    create: () => create(stack, prompt, spoken(320, [{ atSeconds: 200 + index, seconds: 2 }])),
  }))
  const ids = await killAtEffects(observed, Object.values(points), kills)
  const hasEnded = `state in ('completed', 'failed')`
  await stack.until(
    'all tasks have ended',
    async () =>
      (await counted(stack, `select count(*) from transcription_tasks where ${hasEnded}`)) === tasks.length,
  )

  const { rows } = await stack.database.postgres.query<{ id: string; ends: string }>(
    'select id, coalesce(error_code, state) as ends from transcription_tasks',
  )
  const ends = new Map(rows.map((row) => [row.id, row.ends]))
  expect(kills.map((kill) => ends.get(ids.get(kill) ?? ''))).toEqual(tasks.map((task) => task.ends))
  const completedIds = rows.flatMap((row) => (row.ends === 'completed' ? row.id : []))
  for (const id of completedIds) expect(await transcribedSegments(stack, id)).toBe(2)
  expect(await counted(stack, 'select count(*) from open_transcriptions')).toBe(0)
  expect(await counted(stack, 'select sum(captured_micros) as count from transcription_tasks')).toBe(
    completedIds.length * 32_000,
  )
  await stack.assertLedger({
    ...{ completed: 0, failed: 0, captures: completedIds.length },
    releases: tasks.length - completedIds.length,
  })
  await stack.until(
    'no recording is left',
    async () =>
      (await counted(stack, 'select count(*) from transcription_tasks where recording_key is not null')) ===
      0,
  )
  // An effect that is missing above needs a point as well.
  const described = [...Object.values(points).map(({ action }) => action), ...otherActions]
  expect(findUndescribed(holds.worker.seen, described)).toEqual([])
})
