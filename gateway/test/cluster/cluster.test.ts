/** The service on many machines survives the loss of each of them, and of the network between them. `npm run prove:cluster` */
import { afterAll, expect, inject, test } from 'vitest'

import { previousVersion } from '../upgrade/previous-version.ts'
import { clusterFaults } from './cluster-faults.ts'
import { startClusterStack, type ClusterStack } from './cluster-stack.ts'
import { runClusterFault } from './run-cluster-fault.ts'

const isQuick = process.env['PROVE_CLUSTER'] === 'quick'
const options = {
  cutMs: isQuick ? 10_000 : 30_000,
  previous: () => previousVersion().command,
  current: inject('command'),
}
const createsPerSecond = 5

let shared: ClusterStack | undefined
const dispose = async () => {
  await shared?.[Symbol.asyncDispose]()
  shared = undefined
}
afterAll(dispose)

const names = Object.entries(clusterFaults).flatMap(([name, fault]) =>
  !isQuick || fault.isQuick === true ? name : [],
)

test.for(names)('%s', async (name, context) => {
  const fault = clusterFaults[name]
  if (fault === undefined) throw new Error(`there is no fault "${name}"`)
  // The damage of a fault must not show in the figures of the next one.
  context.onTestFailed(dispose)
  shared ??= await startClusterStack()
  const { line, problems, examples } = await runClusterFault(shared, fault, options, createsPerSecond)
  context.task.meta.fault = { line: `${name.padEnd(26)}  ${line}`, examples }
  expect(problems).toEqual([])
})
