/** Faults of the bucket while customers use the service do no damage. */
import { afterAll, expect, test } from 'vitest'

import { bucketFaults } from './bucket-faults.ts'
import { startFaultStack, type FaultStack } from './fault-stack.ts'
import { runFault } from './run-fault.ts'

let shared: FaultStack | undefined
const dispose = async () => {
  await shared?.[Symbol.asyncDispose]()
  shared = undefined
}
afterAll(dispose)

test.for(Object.entries(bucketFaults))('%s does no damage', async ([name, fault], context) => {
  // The damage of a fault must not show in the figures of the next one.
  context.onTestFailed(dispose)
  shared ??= await startFaultStack({ hasBucket: true })
  const { line, problems, examples } = await runFault(shared, fault, {
    // No customer waits for others, because results that cannot be stored are open tasks.
    ...{ createsPerSecond: 6, completedBefore: 20, models: ['repeatable'], openTasksMax: 2_000 },
    ...{ judgesTimes: true, stuckAfterMs: 240_000 },
  })
  context.task.meta.fault = {
    line: `${name.padEnd(22)}  ${line}`,
    examples: problems.length > 0 ? examples : [],
  }
  console.log([context.task.meta.fault.line, ...context.task.meta.fault.examples].join('\n  '))
  expect(problems).toEqual([])
})
