/**
 * The processes of the previous version are replaced by those of this version, one after the other, while customers use
 * the service: first the database is migrated, then the workers are replaced, then the API processes.
 */
import { expect, inject, test } from 'vitest'

import { jsonOf, send } from '../faults/retrying.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import type { RoleProcess } from '../kit/role-process.ts'
import { findBroken, openChatStream, openEventStream, openSpeech } from './open-streams.ts'
import { previousVersion } from './previous-version.ts'
import { startUpgradeStack, type Customer, type UpgradeStack } from './upgrade-stack.ts'

const isFull = process.env['PROVE_UPGRADE'] === 'full'
const counts = isFull
  ? { heldTasks: 250, otherTasks: 250, eventStreams: 40, chatStreams: 10 }
  : { heldTasks: 10, otherTasks: 10, eventStreams: 4, chatStreams: 2 }
/** Tasks that are created while each process is replaced. */
const tasksPerReplacement = isFull ? 20 : 3
// The jobs of held tasks end after the upgrade. The other tasks share the few remaining slots, so that tasks of every
// stage are in flight all the time.
const slots = counts.heldTasks + counts.chatStreams + Math.ceil(counts.otherTasks / 8)

const previous = previousVersion()
const inFlight = new AbortController()

const createTasks = (customer: Customer, count: number, prompt: string): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const sent = await send({
        ...{ ...customer, path: '/v1/videos', method: 'POST', signal: inFlight.signal },
        headers: { 'content-type': 'application/json', 'idempotency-key': `${prompt} ${index}` },
        body: JSON.stringify({ model: 'vidB-2', prompt, seconds: 4, size: '480x480' }),
      })
      if (sent.kind === 'failed') throw new Error(`a create failed: ${sent.reason}`)
      return String(jsonOf(sent.bytes)['id'])
    }),
  )

const count = async ({ database }: UpgradeStack, text: string): Promise<number> => {
  const { rows } = await database.postgres.query<{ count: number }>(text)
  return rows[0]?.count ?? 0
}

/** What the comparison with the engine had to repair. */
const repairsIn = (line: string): string[] => {
  if (!line.includes('"engine.repaired"')) return []
  const { woken, lost, overdue, resumed, killed } = JSON.parse(line) as Record<string, unknown>
  return [JSON.stringify({ woken, lost, overdue, resumed, killed })]
}

const stopped: { name: string; code: number | null; ms: number }[] = []

/** Stops a process of the previous version, and starts one of this version at its place. */
const replace = async (name: string, role: RoleProcess) => {
  const startedMs = performance.now()
  const code = await role.stop()
  stopped.push({ name, code, ms: Math.round(performance.now() - startedMs) })
  await role.start()
}

test('a rolling restart loses no task, charges each once, and cuts no stream', async () => {
  await using stack = await startUpgradeStack({ slots })
  const { vendor, apis, workers } = stack
  await stack.runCommand(previous.command, 'migrate')
  await Promise.all([...apis, ...workers].map((role) => role.startVersion(previous.command)))
  const customer = await stack.createCustomer(previous.command)

  const held = await createTasks(customer, counts.heldTasks, 'A whale vendor:never')
  const streams = await Promise.all([
    ...Array.from({ length: counts.chatStreams }, (_, index) =>
      openChatStream(customer, `A whale, number ${index} vendor:never`, inFlight.signal),
    ),
    ...held.slice(0, counts.eventStreams).map((taskId) => openEventStream(customer, taskId, inFlight.signal)),
  ])
  const countHeld = () =>
    vendor.jobs().filter(({ prompt, state }) => prompt.includes('vendor:never') && state !== 'completed')
      .length
  await expect.poll(countHeld).toBe(held.length + counts.chatStreams)
  const others = await createTasks(customer, counts.otherTasks, 'A whale vendor:duration=2000')

  await stack.runCommand(inject('command'), 'migrate')
  const created: string[] = []
  const whileTasksAreCreated = async (name: string, role: RoleProcess) => {
    const creating = createTasks(customer, tasksPerReplacement, `A whale during ${name} vendor:duration=500`)
    await replace(name, role)
    created.push(...(await creating))
  }
  for (const [index, worker] of workers.entries()) await whileTasksAreCreated(`worker ${index}`, worker)
  const speeches: (number | undefined)[] = []
  for (const [index, api] of apis.entries()) {
    // It has begun when the process is told to stop, and takes some seconds.
    const { sizeBytes } = await openSpeech(
      customer,
      customer.origins[index] ?? '',
      `A long story about number ${index} vendor:pace=100`,
    )
    await whileTasksAreCreated(`api ${index}`, api)
    speeches.push(await sizeBytes)
  }
  expect(countHeld()).toBe(held.length + counts.chatStreams)
  vendor.release(1_000)
  const all = [...held, ...others, ...created]
  const total = all.length + counts.chatStreams
  await expect.poll(() => count(stack, 'select count(*) from open_tasks')).toBe(0)
  await Promise.all(streams.map(({ ended }) => ended))

  const reconnects = streams.reduce((sum, { followed }) => sum + followed.connections - 1, 0)
  const logs = await stack.readLogs()
  const repairs = logs.split('\n').flatMap((line) => repairsIn(line))
  console.log(
    `from ${previous.commit.slice(0, 8)}: ${total} tasks, ${streams.length} streams with ${reconnects} reconnects, ` +
      `repairs: ${repairs.join(', ') || 'none'}; stopped ${stopped.map(({ name, ms }) => `${name} in ${ms} ms`).join(', ')}`,
  )
  expect(stopped.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  // No task is lost, and none has failed or was submitted twice.
  expect(await count(stack, 'select count(*) from video_tasks')).toBe(total)
  expect(await count(stack, `select count(*) from video_tasks where state = 'completed'`)).toBe(total)
  expect(vendor.jobs().length).toBe(total)
  // Each is charged once.
  const captures = `select count(*) from ledger_entries where movement = 'capture' and book = 'revenue' and task_id like 'req%'`
  expect(await count(stack, captures.replace('like', 'not like'))).toBe(total)
  expect(await count(stack, captures)).toBe(speeches.length)
  expect(await brokenInvariants(stack.database.postgres)).toEqual([])
  // Every stream was continued without a gap, and no speech was cut.
  expect(findBroken(streams)).toEqual([])
  expect(reconnects).toBeGreaterThanOrEqual(streams.length)
  expect(speeches).toEqual(vendor.speeches().map(({ sizeBytes }) => sizeBytes))
  // The workers of this version have continued the ticks of the previous one; the engine has this code for a journal that
  // does not fit.
  expect(logs).not.toMatch(/RestateError: \(570\)/)
  inFlight.abort()
})
