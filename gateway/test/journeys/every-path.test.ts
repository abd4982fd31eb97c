/** Every path of a video task, with the death of a process between two of its effects. */
import { expect, test } from 'vitest'

import { ask, askJson, pixel } from '../kit/answers.ts'
import { findUndescribed, killAtEffects, type Kill, type KillPoint } from '../kit/kill-at-effects.ts'
import { isLongForm } from '../kit/long-form.ts'
import { startObservedStack } from '../kit/observed-stack.ts'
import type { Stack } from '../kit/stack.ts'

/**
 * Where a process is killed, in the order of a run. `after` an effect it has happened, and its process does not know; of a
 * download, half has arrived.
 */
const points = {
  'after the task is claimed': {
    ...{ at: 'database', action: /set stage = 'starting'/, when: 'after', order: 'late' },
  },
  'after the chat model has the prompt': {
    ...{ at: 'vendor', action: /^POST \/v1\/chat\/completions$/, when: 'after', order: 'alone' },
  },
  'after the enhanced prompt is saved': { at: 'database', action: /set enhanced_prompt/, when: 'after' },
  'before the submit begins': {
    ...{ at: 'database', action: /set stage = 'submitting'/, when: 'before', order: 'late' },
  },
  'after the submit has begun': {
    ...{ at: 'database', action: /set stage = 'submitting'/, when: 'after', order: 'late' },
  },
  'after the vendor has the submit': { at: 'vendor', action: /^POST \/v1\/videos$/, when: 'after' },
  'after the failed attempt is saved': {
    ...{ at: 'database', action: /^(?!.*claimed_jobs).*insert into task_attempts/, when: 'after' },
  },
  'after the task is back in the queue': { at: 'database', action: /set stage = 'accepted'/, when: 'after' },
  'after the refusal is saved': { at: 'database', action: /set outcome = coalesce/, when: 'after' },
  'after the task waits for its deadline': {
    ...{ at: 'database', action: /set stage = 'waiting', next_poll_at = deadline_at/, when: 'after' },
  },
  'after the job is saved': {
    ...{ at: 'database', action: /insert into claimed_jobs/, when: 'after', order: 'late' },
  },
  'after the outcome is saved': {
    ...{ at: 'database', action: /set progress = greatest/, values: /"startsRun":true/ },
    ...{ when: 'after', order: 'late' },
  },
  'during the download': { at: 'vendor', action: /^GET .*\/content$/, when: 'after' },
  'after the download is postponed': {
    ...{ at: 'database', action: /set stage = 'waiting', .*failed_downloads/, when: 'after' },
  },
  'before the file is saved': {
    ...{ at: 'database', action: /insert into media/, when: 'before', order: 'late' },
  },
  'after the file is saved': {
    ...{ at: 'database', action: /insert into media/, when: 'after', order: 'late' },
  },
  'after the task has ended': {
    ...{ at: 'database', action: /delete from open_tasks/, when: 'after', order: 'late' },
  },
  'after the reference image is forgotten': {
    ...{ at: 'database', action: /delete from media where task_id/, when: 'after' },
  },
  'after the job is deleted': { at: 'vendor', action: /^DELETE /, when: 'after' },
  'after the API process has cancelled the task': {
    ...{ at: 'database', action: /delete from open_tasks/, when: 'after', role: 'api' },
  },
} as const satisfies Record<string, KillPoint>
type PointName = keyof typeof points

/**
 * Effects that do not happen in every run: reasons for operators, a new run for a lost one, a lookup without a result, and the
 * end of a removal, which a sweep may note.
 */
const otherActions = [
  /update task_attempts a set failure_reason/,
  /set run = .* stage = case o\.stage/,
  /set outcome_unknown_since = null/,
  /delete from job_removals/,
]

const submit = [
  'after the task is claimed',
  'before the submit begins',
  'after the submit has begun',
  'after the vendor has the submit',
] as const
const rejected = ['after the failed attempt is saved', 'after the task is back in the queue'] as const
const saveJob = ['after the job is saved', 'after the outcome is saved'] as const
const store = ['during the download', 'before the file is saved', 'after the file is saved'] as const
const end = ['after the task has ended'] as const

interface Path {
  name: string
  /** Tells the vendor what to do. */
  prompt: string
  points: readonly PointName[]
  /** The status of the task, or its error code. */
  ends: string
  /** How many jobs the vendor has for the task: one unless given. */
  jobs?: number
  /** Another end if the worker is killed there. */
  otherwise?: Partial<Record<PointName, { ends: string; jobs: number }>>
  /** `idempotent` unless given. */
  provider?: 'plain' | 'lookup'
  isEnhanced?: boolean
  isCancelled?: boolean
  /** The prompt that the vendor gets, if not the given one. */
  sent?: (prompt: string) => string
}

const paths: Path[] = [
  {
    ...{ name: 'the vendor completes the job', prompt: 'A whale', ends: 'completed' },
    points: [...submit, ...saveJob, ...store, ...end],
  },
  {
    ...{ name: 'the vendor is busy twice', prompt: 'A vendor:busy=2 whale', ends: 'completed' },
    points: [...rejected, ...submit, ...saveJob, ...store, ...end],
  },
  {
    ...{ name: 'the response to the submit is lost', prompt: 'A vendor:drop-reply whale', ends: 'completed' },
    points: [...rejected, ...submit, ...saveJob, ...store, ...end],
  },
  {
    ...{ name: 'the response to the submit is garbage', prompt: 'A vendor:garbage whale', ends: 'completed' },
    points: [...submit, ...rejected, ...saveJob, ...store, ...end],
  },
  {
    ...{ name: 'the vendor fails once before it accepts the job', prompt: 'A vendor:500-then-ok whale' },
    ...{ ends: 'completed', points: [...submit, ...rejected, ...saveJob, ...store, ...end] },
  },
  {
    ...{ name: 'three polls in a row fail', prompt: 'A vendor:poll-503=3 whale', ends: 'completed' },
    points: [...submit, ...saveJob, ...store, ...end],
  },
  {
    ...{ name: 'a download breaks off', prompt: 'A vendor:cut-media=1 whale', ends: 'completed' },
    points: ['after the download is postponed', ...store, ...submit, ...saveJob, ...end],
  },
  {
    ...{ name: 'the vendor rejects the submit', prompt: 'A vendor:reject=content_policy_violation whale' },
    ...{ ends: 'content_policy_violation', jobs: 0 },
    points: ['after the refusal is saved', 'after the failed attempt is saved', ...submit, ...end],
  },
  {
    ...{ name: 'the vendor refuses the content of a running job' },
    ...{ prompt: 'A vendor:fail=content_policy_violation whale', ends: 'content_policy_violation' },
    points: [...saveJob, ...submit, ...end, 'after the job is deleted'],
  },
  {
    ...{ name: 'a running job fails at the vendor', prompt: 'A vendor:fail=server_error whale' },
    ...{ ends: 'upstream_error', points: [...saveJob, ...submit, ...end, 'after the job is deleted'] },
  },
  {
    ...{ name: 'the vendor never finishes', prompt: 'A vendor:never whale', ends: 'task_timeout' },
    points: ['after the job is deleted', ...saveJob, ...submit, ...end],
  },
  {
    ...{ name: 'the result is never a video', prompt: 'A vendor:bad-media whale', ends: 'upstream_error' },
    points: ['after the download is postponed', 'during the download', ...submit, ...saveJob, ...end],
  },
  {
    name: 'a vendor that cannot recognize a repeated submit completes the job',
    ...{ provider: 'plain', prompt: 'A plain whale', ends: 'completed' },
    points: [...submit, ...saveJob, ...store, ...end],
    otherwise: {
      'after the submit has begun': { ends: 'task_timeout', jobs: 0 },
      'after the vendor has the submit': { ends: 'task_timeout', jobs: 1 },
    },
  },
  {
    name: 'a vendor that cannot recognize a repeated submit accepts a job and does not respond',
    ...{ provider: 'plain', prompt: 'A vendor:drop-reply plain whale', ends: 'task_timeout' },
    points: ['after the task waits for its deadline', ...submit, 'after the outcome is saved', ...end],
    otherwise: { 'after the submit has begun': { ends: 'task_timeout', jobs: 0 } },
  },
  {
    name: 'a vendor with lookups accepts a job and does not respond',
    ...{ provider: 'lookup', prompt: 'A vendor:drop-reply listed whale', ends: 'completed' },
    points: [
      'after the reference image is forgotten',
      ...[...submit, ...rejected, ...saveJob, ...store, ...end],
      'after the job is deleted',
    ],
  },
  {
    ...{ name: 'a chat model translates the prompt', isEnhanced: true, prompt: '日落时的鲸鱼' },
    ...{ ends: 'completed', sent: (prompt) => `In English, by the vendor: ${prompt}` },
    points: [
      'after the chat model has the prompt',
      'after the enhanced prompt is saved',
      ...[...submit, ...saveJob, ...store, ...end],
    ],
  },
  {
    name: 'the chat model fails',
    ...{ prompt: 'A vendor:chat-fail whale', isEnhanced: true, ends: 'completed' },
    points: ['after the enhanced prompt is saved', 'after the chat model has the prompt', ...submit],
  },
  {
    ...{ name: 'the task is cancelled during its submit', isCancelled: true, ends: 'task_cancelled' },
    prompt: 'A vendor:never vendor:slow-reply=400 cancelled whale',
    points: ['after the API process has cancelled the task', ...submit, 'after the job is saved'],
  },
]

/** At full length, every point of every path. Otherwise at least one point of each path, and each point at least once. */
const planKills = (): { path: Path; point: PointName }[] => {
  if (isLongForm) return paths.flatMap((path) => path.points.map((point) => ({ path, point })))
  const plan: { path: Path; point: PointName }[] = []
  const usesOf = (point: PointName) => plan.filter((each) => each.point === point).length
  for (const path of paths) {
    const [point] = path.points.toSorted((one, other) => usesOf(one) - usesOf(other))
    if (point !== undefined) plan.push({ path, point })
  }
  for (const path of paths) {
    for (const point of path.points) if (usesOf(point) === 0) plan.push({ path, point })
  }
  return plan
}

const modelOf = ({ provider, isEnhanced = false }: Path): string => {
  if (isEnhanced) return 'vidA3'
  return { idempotent: 'vidB-2', plain: 'vidB-2-pro', lookup: 'vidA_3_1' }[provider ?? 'idempotent']
}

const create = async (stack: Stack, path: Path, prompt: string): Promise<string> => {
  const model = modelOf(path)
  if (path.isEnhanced !== true) {
    const image = path.provider === 'lookup' && { input_reference: pixel }
    return stack.create(prompt, { model, size: '720x1280', ...image })
  }
  const order = { model, prompt, enhance_prompt: true }
  const { status, headers, body } = await askJson(`${stack.url}/v1/video/create`, stack.key, order)
  expect({ status, body }).toMatchObject({ status: 200 })
  expect(headers.get('x-ignored-params')).toBeNull()
  return String(body['id'])
}

/** Cancels a task once the vendor has its job. A request that the death of the API process interrupts is repeated. */
const cancel = async (stack: Stack, id: string, marker: string): Promise<void> => {
  await stack.until('the vendor has the job to cancel', async () =>
    stack.vendor.jobs().some(({ prompt }) => prompt.includes(marker)),
  )
  await stack.until('the task is cancelled', async () => {
    const url = `${stack.url}/v1/videos/${id}/cancel`
    const answer = await ask(url, stack.key, { method: 'POST' }).catch(() => undefined)
    return answer?.status === 200
  })
}

/**
 * Lets deadlines pass, and the time until a lookup without a result counts, for tasks that wait for nothing else. A task that is
 * locked is left to the next call.
 */
const advanceClock = async ({ database: { postgres } }: Stack): Promise<void> => {
  await postgres.query(
    `update open_tasks set deadline_at = now(), next_poll_at = now()
      where task_id in (
        select o.task_id from open_tasks o
          join video_tasks t on t.day = o.day and t.id = o.task_id
         where o.stage = 'waiting' and o.deadline_at > now()
           and (o.upstream is null or t.video_order ->> 'prompt' like '%vendor:never whale%'
                or (o.failed_downloads > 0 and t.video_order ->> 'prompt' like '%vendor:bad-media%'))
           for update of o skip locked)`,
  )
  await postgres.query(
    `update open_tasks
        set outcome_unknown_since = outcome_unknown_since - interval '2 minutes', not_before = now()
      where task_id in (
        select task_id from open_tasks
         where provider = 'lookup' and stage = 'accepted' and outcome_unknown_since > now() - interval '2 minutes'
           for update skip locked)`,
  )
}

/** The status of a task as callers see it, or its error code. */
const readEnd = async (stack: Stack, id: string | undefined): Promise<unknown> => {
  const { body } = await ask(`${stack.url}/v1/videos/${id}`, stack.key)
  return (body['error'] as { code: string } | undefined)?.code ?? body['status']
}

test('every path has the same end, one charge and one job if a process dies between two effects', async () => {
  await using observed = await startObservedStack(
    { idempotent: { idempotentSubmits: true }, plain: {}, lookup: { lookup: true } },
    { 'vidB-2-pro': { provider: 'plain' }, vidA_3_1: { provider: 'lookup' } },
  )
  const { stack, holds } = observed
  const cancels: Promise<void>[] = []
  const plan = planKills()
  expect(new Set(plan.map(({ path }) => path))).toEqual(new Set(paths))
  expect(new Set(plan.map(({ point }) => point))).toEqual(new Set(Object.keys(points)))
  const tasks = plan.map(({ path, point }, index) => {
    const marker = `(${index})`
    return { path, point, marker, prompt: `${path.prompt} ${marker}` }
  })

  const failures: unknown[] = []
  const clock = setInterval(() => void advanceClock(stack).catch((error) => failures.push(error)), 200)
  const kills = tasks.map(({ path, point, marker, prompt }) => ({
    ...{ name: `${path.name}, ${point}`, point: points[point], marker },
    create: () => create(stack, path, prompt),
    onCreated: (id: string) => {
      if (path.isCancelled === true) cancels.push(cancel(stack, id, marker))
    },
  }))
  let ids: Map<Kill, string>
  try {
    ids = await killAtEffects(observed, Object.values(points), kills)
    await Promise.all(cancels)
    await stack.until('all tasks have ended', async () => {
      const { completed = 0, failed = 0 } = await stack.states()
      return completed + failed === tasks.length
    })
  } finally {
    clearInterval(clock)
  }

  expect(failures).toEqual([])
  const ends = await Promise.all(kills.map((kill) => readEnd(stack, ids.get(kill))))
  const jobs = stack.vendor.jobs()
  expect(
    tasks.map(({ path, point, marker }, index) => ({
      path: path.name,
      killed: point,
      ends: ends[index],
      jobs: jobs.flatMap(({ prompt }) => (prompt.includes(marker) ? prompt : [])),
    })),
  ).toEqual(
    tasks.map(({ path, point, prompt }) => {
      const expected = path.otherwise?.[point] ?? { ends: path.ends, jobs: path.jobs ?? 1 }
      const sent = path.sent?.(prompt) ?? prompt
      return {
        ...{ path: path.name, killed: point, ends: expected.ends },
        jobs: Array.from({ length: expected.jobs }, () => sent),
      }
    }),
  )
  const completed = ends.filter((end) => end === 'completed').length
  await stack.assertLedger({ completed, failed: tasks.length - completed })
  // An effect that is missing above needs a point as well.
  const described = [...Object.values(points).map(({ action }) => action), ...otherActions]
  expect(findUndescribed(holds.worker.seen, described)).toEqual([])
})
