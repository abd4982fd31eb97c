import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { startStack } from '../kit/stack.ts'

/** The behaviour of the vendor by prompt, and how the task must end. */
const paths = [
  ['the vendor completes the job', 'A whale', 'completed'],
  ['the vendor is busy twice', 'A vendor:busy=2 whale', 'completed'],
  ['the vendor accepts the job and its response is lost', 'A vendor:drop-reply whale', 'completed'],
  ['the vendor accepts the job and returns garbage', 'A vendor:garbage whale', 'completed'],
  ['the vendor fails once before it accepts the job', 'A vendor:500-then-ok whale', 'completed'],
  ['three polls in a row fail', 'A vendor:poll-503=3 whale', 'completed'],
  [
    'the vendor refuses the content of a running job',
    'A vendor:fail=content_policy_violation whale',
    'content_policy_violation',
  ],
  ['a running job fails at the vendor', 'A vendor:fail=server_error whale', 'upstream_error'],
] as const

/** End only by their deadline. They run on a separate stack, because a short deadline would affect the other paths. */
const endless = [
  ['the vendor never finishes', 'A vendor:never whale', 'task_timeout'],
  ['the result is never a video', 'A vendor:bad-media whale', 'upstream_error'],
] as const

test.each([
  { name: 'every path', paths, deadline: undefined, completed: 6 },
  { name: 'the deadline', paths: endless, deadline: '5', completed: 0 },
])('$name ends correctly while the engine replays every run at each step', async (given) => {
  const { deadline, completed: completedCount } = given
  const paths: readonly (readonly [string, string, string])[] = given.paths
  await using stack = await startStack({
    vendorDurationMs: 500,
    alwaysReplay: true,
    ...(deadline !== undefined && { environment: { TASK_DEADLINE_SECONDS: deadline } }),
  })
  const ids = await Promise.all(paths.map(([, prompt]) => stack.create(prompt)))
  await stack.until('all tasks have ended', async () => {
    const { completed = 0, failed = 0 } = await stack.states()
    return completed + failed === paths.length
  })
  const ended = await Promise.all(
    ids.map(async (id, index) => {
      const { body } = await ask(`${stack.url}/v1/videos/${id}`, stack.key)
      const error = body['error'] as { code: string } | undefined
      return [paths[index]?.[0], paths[index]?.[1], error?.code ?? body['status']]
    }),
  )
  expect(ended).toEqual(paths)
  await stack.assertLedger({ completed: completedCount, failed: paths.length - completedCount })
  expect(new Set(stack.vendor.jobs().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(
    stack.vendor.jobs().length,
  )
})
