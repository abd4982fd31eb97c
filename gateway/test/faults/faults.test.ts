/** Faults while customers use the service do no damage, and each guard is needed for that. */
import { afterAll, describe, expect, test, type TaskMeta } from 'vitest'

import type { Client } from './client.ts'
import { clockProblem } from './clock-fault.ts'
import { controls } from './controls.ts'
import { modelNames, startFaultStack, type FaultStack } from './fault-stack.ts'
import { faultNames, faults } from './faults.ts'
import { judge, type Damage } from './judge.ts'
import { mediaDiskProblem } from './media-disk.ts'
import { mutate } from './mutation.ts'
import { runFault, type FaultResult, type RunOptions } from './run-fault.ts'
import { spoil } from './spoil.ts'

const isFull = process.env['PROVE_FAULTS'] === 'full'
const options: RunOptions = {
  createsPerSecond: isFull ? 6 : 4,
  completedBefore: isFull ? 20 : 6,
  // At the other vendor, a submit that may have arrived is looked up for two minutes before it is repeated.
  models: isFull ? modelNames : ['repeatable'],
  openTasksMax: 240,
  judgesTimes: isFull,
  stuckAfterMs: 240_000,
}

const names = faultNames.filter((name) => isFull || faults[name].isQuick === true)

const report = (
  meta: TaskMeta,
  name: string,
  { line, problems, examples }: FaultResult,
  isControl = false,
) => {
  meta.fault = {
    line: `${name.padEnd(22)}  ${line}`,
    examples: problems.length > 0 && !isControl ? examples : [],
  }
  console.log([meta.fault.line, ...meta.fault.examples].join('\n  '))
}

describe('with every guard', () => {
  let shared: FaultStack | undefined
  let client: Client | undefined
  const dispose = async () => {
    await shared?.[Symbol.asyncDispose]()
    shared = undefined
    client = undefined
  }
  afterAll(dispose)

  test.for(names)('%s does no damage', async (name, context) => {
    if (name.startsWith('clock') && clockProblem !== undefined) throw new Error(clockProblem)
    // The damage of a fault must not show in the figures of the next one.
    context.onTestFailed(dispose)
    shared ??= await startFaultStack(
      isFull
        ? { hasMediaDisk: mediaDiskProblem === undefined }
        : // A busy machine must not refuse a request.
          { environment: { OVERLOAD_EVENT_LOOP_DELAY_MS: '0' } },
    )
    const result = await runFault(shared, faults[name], options)
    client = result.client
    report(context.task.meta, name, result)
    expect(result.problems).toEqual([])
  })

  test('the judge notices every kind of damage, done by hand', async (context) => {
    context.onTestFinished(dispose)
    if (shared === undefined || client === undefined) return context.skip('no fault was run before')
    const expected = await spoil(shared, client)
    const { found } = await judge(shared, client, { releasesHolds: false })
    for (const [kind, texts] of Object.entries(expected))
      for (const text of texts) expect(found[kind as keyof Damage].join('\n')).toContain(text)
  })
})

describe('without a guard', () => {
  test('every control finds the text that it changes', () => {
    for (const { without } of controls)
      if (without !== undefined && 'mutation' in without) mutate(without.mutation)
  })

  test.for(isFull ? controls : [])('$name', async (control, { task }) => {
    const hasMediaDisk = control.fault === 'media disk full'
    await using stack = await startFaultStack({ ...control.without, hasMediaDisk })
    const { fault, stuckAfterMs = 0 } = control
    const result = await runFault(stack, typeof fault === 'string' ? faults[fault] : fault, {
      ...options,
      stuckAfterMs,
    })
    report(task.meta, control.name, result, true)
    expect(result.problems).toContain(control.expected)
  })
})
