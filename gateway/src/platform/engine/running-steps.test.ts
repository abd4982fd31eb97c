import { inspect } from 'node:util'

import { expect, test } from 'vitest'

import { createRunningSteps } from './running-steps.ts'

test('a stop waits for the steps in progress, also for one that fails, and for no others', async () => {
  const steps = createRunningSteps()
  const ends: string[] = []
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const results = Promise.allSettled([steps.run(() => first.promise), steps.run(() => second.promise)])
  const stopped = steps.stop().then(() => ends.push('stopped'))
  await expect(steps.run(async () => ends.push('late'))).rejects.toThrow('the worker is stopping')
  first.reject(new Error('failed'))
  await Promise.allSettled([first.promise])
  ends.push('first')
  second.resolve('result')
  await stopped
  expect(ends).toEqual(['first', 'stopped'])
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('records may outlive the steps, and are waited for separately', async () => {
  const steps = createRunningSteps()
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const results = Promise.allSettled([steps.record(() => first.promise), steps.record(() => second.promise)])
  await steps.stop()
  expect(steps.recording()).toBe(2)
  const ends: string[] = []
  const recorded = steps.untilRecorded().then(() => ends.push('recorded'))
  first.reject(new Error('failed'))
  await Promise.allSettled([first.promise])
  ends.push('first')
  second.resolve('result')
  await recorded
  expect(ends).toEqual(['first', 'recorded'])
  expect(steps.recording()).toBe(0)
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('the error of a step is thrown without its message, which the engine would store', async () => {
  const steps = createRunningSteps()
  const cause = Object.assign(new Error('planted'), { code: '23505', detail: 'planted' })
  const failed: unknown = await steps
    .run(() => Promise.reject(Object.assign(new TypeError('planted', { cause }), { code: 'ERR_OF_TEST' })))
    .catch((thrown: unknown) => thrown)
  expect(failed).toMatchObject({ message: 'TypeError ERR_OF_TEST' })
  expect((failed as Error).stack).toMatch(/at .*running-steps\.test\.ts/)
  expect(inspect(failed, { depth: 9 })).not.toContain('planted')
})

test('steps learn at once that the worker is stopping', async () => {
  const steps = createRunningSteps()
  const step = steps.run(
    () => new Promise((resolve) => steps.stopping.addEventListener('abort', () => resolve('ended early'))),
  )
  await steps.stop()
  expect(await step).toBe('ended early')
})
