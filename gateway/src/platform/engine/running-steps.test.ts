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

test('steps learn at once that the worker is stopping', async () => {
  const steps = createRunningSteps()
  const step = steps.run(
    () => new Promise((resolve) => steps.stopping.addEventListener('abort', () => resolve('ended early'))),
  )
  await steps.stop()
  expect(await step).toBe('ended early')
})
