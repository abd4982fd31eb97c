/**
 * What a video costs from its create to its end: processor time by process, statements, row writes and invocations per
 * task, and tasks per second. Rounds alternate with as many bare workflows on the same engine, and with as many tasks of a
 * queue by hand in the same database.
 */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { apiKey, type FaultStack } from '../gateway/test/faults/fault-stack.ts'
import { reservePorts } from '../gateway/test/kit/reserve-ports.ts'
import { startBaseline } from './baselines/start-baseline.ts'
import { createVideoOf, startBenchStack, untilNoneIsOpen } from './bench-stack.ts'
import { cpuMsOf, cpuMsOfFamily } from './measure/cpu-time.ts'
import { readWork } from './measure/database-work.ts'
import { minus, per, total, type Figures } from './measure/figures.ts'
import { countInvocationsIn, invocationsOf } from './measure/invocations.ts'
import { runLoad } from './measure/load.ts'
import { profileDirectory } from './measure/profile.ts'
import { measureInTurns, type Rounds } from './measure/rounds.ts'

export interface LifeOptions {
  tasks: number
  rounds: number
  /** How long the idle service is measured after the last round. */
  idleMs: number
}

export interface LifeFigures {
  /** Per task unless the name says otherwise. */
  life: Rounds<'kinora' | 'workflow' | 'leases'>
  /** The share of one processor that each process uses when all tasks have ended. */
  idle: Figures
}

/** After this time without work the service counts as idle. */
const settleMs = 30_000

const databaseWorkOf = async (stack: FaultStack): Promise<Figures> => {
  const { writes, statements } = await readWork(stack)
  return { writes: total(Object.fromEntries(writes)), statements: total(Object.fromEntries(statements)) }
}

const startWorkflow = async ({ directory, restate }: FaultStack) => {
  const { workflow: port } = await reservePorts(directory, ['workflow'])
  const workflow = await startBaseline('bare-workflow', [String(port), restate.ingressUrl])
  const registered = await fetch(`${restate.adminUrl}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
  })
  if (!registered.ok)
    throw new Error(`the engine did not register the bare workflow: ${await registered.text()}`)
  return workflow
}

export const measureLife = async ({ tasks, rounds, idleMs }: LifeOptions): Promise<LifeFigures> => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const countFile = join(directory.path, 'invocations')
  const isProfiling = profileDirectory() !== undefined
  await using bench = await startBenchStack(isProfiling ? {} : { environment: countInvocationsIn(countFile) })
  const { stack, keys, origin, cpu } = bench
  const vendorUrl = stack.vendors.repeatable.url
  using workflow = await startWorkflow(stack)
  using leases = await startBaseline('bare-leases', [stack.postgres.url, vendorUrl, apiKey, directory.path])

  const create = createVideoOf(keys, 'vendor:duration=0')
  const runTasks = async () => {
    await runLoad(origin, create, { until: { count: tasks } })
    await untilNoneIsOpen(stack)
  }
  const timed = async (cpuOfArm: () => Figures, work: () => Promise<void>): Promise<Figures> => {
    const before = cpuOfArm()
    const startedMs = performance.now()
    await work()
    const seconds = (performance.now() - startedMs) / 1000
    const used = per(minus(cpuOfArm(), before), tasks)
    return { ...used, cpu: total(used), 'per second': tasks / seconds }
  }
  const countedWork = async (): Promise<Figures> => {
    const work = await databaseWorkOf(stack)
    if (isProfiling) return work
    const { advanceVideo = 0, ...loops } = await invocationsOf(stack, countFile)
    return { ...work, 'invocations of runs': advanceVideo, 'invocations of loops': total(loops) }
  }
  const measureTasks = async (): Promise<Figures> => {
    const before = await countedWork()
    const figures = await timed(cpu, runTasks)
    return { ...figures, ...per(minus(await countedWork(), before), tasks) }
  }
  const cpuOfWorkflow = () => ({ workflow: cpuMsOf(workflow.pid), restate: cpuMsOf(stack.restate.pid()) })
  const cpuOfLeases = () => ({
    worker: cpuMsOf(leases.pid),
    postgres: cpuMsOfFamily(stack.postgres.pid()),
  })
  const life = await measureInTurns(
    {
      kinora: measureTasks,
      workflow: () => timed(cpuOfWorkflow, () => workflow.ask(tasks)),
      leases: () => timed(cpuOfLeases, () => leases.ask(tasks)),
    },
    rounds,
  )
  await sleep(settleMs)
  const before = cpu()
  await sleep(idleMs)
  return { life, idle: per(minus(cpu(), before), idleMs) }
}
