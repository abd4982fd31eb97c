/** A kind of task with nothing of its own but a run, a claim and two tables has every guarantee of a task. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { checkEngine } from '../../src/platform/engine/anti-entropy.ts'
import { readInvocations, type Invocation } from '../../src/platform/engine/invocation-store.ts'
import { parseRunKey, runKey, type Run } from '../../src/platform/engine/run-key.ts'
import { createRunningSteps } from '../../src/platform/engine/running-steps.ts'
import { serveEngine } from '../../src/platform/engine/serve-engine.ts'
import { createLog } from '../../src/platform/log.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import {
  acceptPoster,
  carriedPosters,
  createPosterTables,
  dispatchPosters,
  dispatcher,
  posterServices,
  type PosterDependencies,
} from '../kit/poster-task.ts'
import type { PosterWorkerSettings } from '../kit/poster-worker.ts'
import { startEngine, type StartedEngine } from '../kit/start-engine.ts'

let started: StartedEngine
let database: TestDatabase
beforeAll(async () => {
  started = await startEngine()
  database = await createDatabase()
  await createPosterTables(database.postgres)
})
afterAll(async () => {
  await started[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const accept = async (id: string, accountId: string = randomUUID()): Promise<string> => {
  await acceptPoster(database.postgres, id, accountId)
  return id
}
const stateOf = async (id: string) => {
  const { rows } = await database.postgres.query<{ state: string }>(
    'select state from poster_tasks where id = $1',
    [id],
  )
  return rows[0]?.state
}
const runOf = async (id: string) => {
  const { rows } = await database.postgres.query<{ run: number }>(
    'select run from open_posters where task_id = $1',
    [id],
  )
  return rows[0]?.run
}
const expectEnd = async (id: string, state: 'completed' | 'failed') => {
  await expect.poll(() => stateOf(id)).toBe(state)
  expect(await runOf(id)).toBeUndefined()
}
const check = () =>
  checkEngine({
    engine: started.engine,
    loops: async () => [dispatcher],
    carried: [carriedPosters(database.postgres)],
  })

const program = fileURLToPath(new URL('../kit/poster-worker.ts', import.meta.url))

/** Starts a worker in a process of its own. `ended` has the signal that ended it. */
const startWorker = async (directory: string, killAt?: PosterWorkerSettings['killAt']) => {
  const settings = { databaseUrl: database.url, port: started.settings.port, directory, killAt }
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exit = once(child, 'exit')
  await Promise.race([
    once(child, 'message'),
    exit.then(() => Promise.reject(new Error('the worker ended before it was ready'))),
  ])
  return {
    ended: exit.then(([, signal]: unknown[]) => signal),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await exit
    },
  }
}

const register = async () => {
  await started.engine.register(started.workerUrl)
  await started.engine.startLoop(dispatcher.loop, dispatcher.key)
}
const wake = () => started.engine.wake(dispatcher.loop, dispatcher.key)

/** Serves in this process, where effects can be held. */
const serveHere = async () => {
  const steps = createRunningSteps()
  const performed: [effect: string, run: Run][] = []
  const failing = new Set<string>()
  const holds = new Map<
    string,
    { reached: PromiseWithResolvers<Run>; released: PromiseWithResolvers<void> }
  >()
  const perform: PosterDependencies['perform'] = async (effect, run) => {
    performed.push([effect, run])
    if (failing.has(run.taskId)) throw new Error('the effect failed')
    const held = holds.get(`${effect} ${run.taskId}`)
    holds.delete(`${effect} ${run.taskId}`)
    held?.reached.resolve(run)
    await held?.released.promise
  }
  const services = posterServices({ postgres: database.postgres, perform }, steps)
  const served = await serveEngine(services, steps, started.settings, createLog({ level: 'silent' }, 'test'))
  await register()
  return {
    performed,
    /** The tasks whose effects fail. */
    failing,
    /** Holds the first execution of an effect. */
    hold: (effect: string, taskId: string) => {
      const held = { reached: Promise.withResolvers<Run>(), released: Promise.withResolvers<void>() }
      holds.set(`${effect} ${taskId}`, held)
      return { reached: held.reached.promise, release: held.released.resolve }
    },
    [Symbol.asyncDispose]: served.close,
  }
}

const points = ['after claim', 'before draw', 'after draw', 'before print', 'after print', 'after finish']

test('a task whose worker is killed between any two effects is completed by the same run', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-posters-'))
  const readRun = async (id: string, effect: string) =>
    Number(await readFile(join(directory.path, `${id}.${effect}`), 'utf8'))
  const runs = new Map<string, number | undefined>()
  for (const [index, point] of points.entries()) {
    const id = `killed-${index}`
    await using worker = await startWorker(directory.path, { point, taskId: id })
    if (index === 0) await register()
    await accept(id)
    wake()
    expect(await worker.ended).toBe('SIGKILL')
    runs.set(id, await runOf(id))
  }
  expect([...runs.values()].filter((run) => run === undefined)).toHaveLength(1)
  await using _ = await startWorker(directory.path)
  for (const [id, run] of runs) {
    await expectEnd(id, 'completed')
    const drawn = await readRun(id, 'draw')
    expect(await readRun(id, 'print')).toBe(drawn)
    expect(drawn).toBe(run ?? drawn)
  }
})

test('a task that an emptied engine has lost is completed by a new run, and its dispatcher goes on', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-posters-'))
  const killed = await startWorker(directory.path, { point: 'before print', taskId: 'lost' })
  await register()
  await accept('lost')
  wake()
  expect(await killed.ended).toBe('SIGKILL')
  const run = await runOf('lost')
  await started.empty()
  await using _ = await startWorker(directory.path)
  await started.engine.register(started.workerUrl)
  const first = await check()
  expect(first.woken).toEqual([`${dispatcher.loop}/${dispatcher.key}`])
  // A run that is a few seconds old may still be on its way to the engine.
  if (first.lost === 0) await expect.poll(async () => (await check()).lost).toBe(1)
  await expectEnd('lost', 'completed')
  expect(await readFile(join(directory.path, 'lost.draw'), 'utf8')).toBe(String(run))
  expect(Number(await readFile(join(directory.path, 'lost.print'), 'utf8'))).toBeGreaterThan(run ?? Infinity)
  await accept('after')
  wake()
  await expectEnd('after', 'completed')
})

test('a tick that is executed twice starts what it has claimed, and claims nothing more', async () => {
  const { postgres } = database
  const accountId = randomUUID()
  for (const id of ['a', 'b', 'c']) await accept(id, accountId)
  const tickId = randomUUID()
  const { starts = [] } = await dispatchPosters({ postgres }, tickId)
  expect(starts.map(({ run }) => run.taskId).toSorted()).toEqual(['a', 'b'])
  const again = await dispatchPosters({ postgres }, tickId)
  expect(new Set(again.starts)).toEqual(new Set(starts))
  // All places are taken.
  expect((await dispatchPosters({ postgres }, randomUUID())).starts).toEqual([])

  await using _ = await serveHere()
  for (const { service, run } of starts) await started.engine.start(service, run)
  for (const id of ['a', 'b']) await expectEnd(id, 'completed')
  wake()
  await expectEnd('c', 'completed')
})

test('a run that a newer one has replaced ends at its next step', async () => {
  await using here = await serveHere()
  const [draw, print] = [here.hold('draw', 'replaced'), here.hold('print', 'replaced')]
  await accept('replaced')
  wake()
  const old = await draw.reached
  const [renewed] = await carriedPosters(database.postgres).renew([old])
  if (renewed === undefined) throw new Error('the run was not renewed')
  await started.engine.start(dispatcher.service, renewed)
  expect(await print.reached).toEqual(renewed)
  // The task is still open, so only the newer run can end the old one.
  draw.release()
  const running = async () =>
    (await readInvocations(started.engine, [dispatcher.service])).map(({ key }) => key)
  await expect.poll(running).toEqual([runKey(renewed)])
  print.release()
  await expectEnd('replaced', 'completed')
  expect(here.performed).toEqual([
    ['draw', old],
    ['draw', renewed],
    ['print', renewed],
  ])
})

/** The invocation of a task whose run fails, while it waits for its next try. */
const findResting = async (taskId: string) => {
  let found: Invocation | undefined
  await expect
    .poll(async () => {
      const invocations = await readInvocations(started.engine, [dispatcher.service])
      found = invocations.find(({ key }) => key.startsWith(`${taskId}~`))
      return found?.status
    })
    .toBe('backing-off')
  return { id: found?.id ?? '', run: parseRunKey(found?.key ?? '') }
}

/** The engine pauses an invocation only once a try that is running has ended. */
const pause = async (invocationId: string) => {
  const answer = await fetch(`${started.urls.adminUrls[0]}/invocations/${invocationId}/pause`, {
    method: 'PATCH',
  })
  expect(answer.ok).toBe(true)
  const statusOf = async () => {
    const invocations = await readInvocations(started.engine, [dispatcher.service])
    return invocations.find(({ id }) => id === invocationId)?.status
  }
  await expect.poll(statusOf).toBe('paused')
}

test('the comparison ends the invocation of a run that a newer one has replaced', async () => {
  await using here = await serveHere()
  here.failing.add('outdated')
  await accept('outdated')
  wake()
  const { id, run } = await findResting('outdated')
  // It would find out by itself at its next try.
  await pause(id)
  const [renewed] = await carriedPosters(database.postgres).renew([run])
  if (renewed === undefined) throw new Error('the run was not renewed')
  // One that is to be ended is not continued first.
  await expect.poll(check).toMatchObject({ killed: 1, resumed: 0 })
  const keys = (await readInvocations(started.engine, [dispatcher.service])).map(({ key }) => key)
  expect(keys).not.toContain(runKey(run))
  here.failing.delete('outdated')
  await started.engine.start(dispatcher.service, renewed)
  await expectEnd('outdated', 'completed')
})

test('the comparison ends an invocation of several runs only when none of them is current', async () => {
  const accountId = randomUUID()
  for (const id of ['one', 'two']) await accept(id, accountId)
  const { starts = [] } = await dispatchPosters({ postgres: database.postgres }, randomUUID())
  await using here = await serveHere()
  for (const id of ['one', 'two']) here.failing.add(id)
  const [first, second] = starts.map(({ run }) => run)
  if (first === undefined || second === undefined) throw new Error('the tasks were not claimed')
  // Its run service starts none by itself, so both are repeated.
  const together = { ...first, others: [second] }
  await started.engine.start(dispatcher.service, together)
  const { id } = await findResting(first.taskId)
  await pause(id)
  const [newer] = await carriedPosters(database.postgres).renew([second])
  if (newer === undefined) throw new Error('the run was not renewed')
  await expect.poll(check).toMatchObject({ killed: 0, resumed: 1, lost: 0 })
  await findResting(first.taskId)
  await pause(id)
  const [last] = await carriedPosters(database.postgres).renew([first])
  if (last === undefined) throw new Error('the run was not renewed')
  await expect.poll(check).toMatchObject({ killed: 1, resumed: 0 })
  for (const each of ['one', 'two']) here.failing.delete(each)
  for (const run of [newer, last]) await started.engine.start(dispatcher.service, run)
  for (const each of ['one', 'two']) await expectEnd(each, 'completed')
})

test('the comparison continues an invocation that the engine has paused', async () => {
  await using here = await serveHere()
  here.failing.add('paused')
  await accept('paused')
  wake()
  const { id } = await findResting('paused')
  await pause(id)
  here.failing.delete('paused')
  await expect.poll(async () => (await check()).resumed).toBe(1)
  await expectEnd('paused', 'completed')
})

test('a task fails after its deadline, between two effects and while it waits for a place', async () => {
  await using here = await serveHere()
  const [late, inTime] = [here.hold('draw', 'late'), here.hold('draw', 'in-time')]
  await accept('late')
  await accept('in-time')
  wake()
  await Promise.all([late.reached, inTime.reached])
  await accept('waiting')
  await database.postgres.query(
    `update open_posters set deadline_at = now() - interval '1 minute' where task_id in ('late', 'waiting')`,
  )
  await expect.poll(async () => (await check()).overdue).toBe(1)
  await expectEnd('waiting', 'failed')
  for (const { release } of [late, inTime]) release()
  await expectEnd('late', 'failed')
  await expectEnd('in-time', 'completed')
  expect(here.performed.map(([effect, { taskId }]) => `${effect} ${taskId}`).toSorted()).toEqual([
    'draw in-time',
    'draw late',
    'print in-time',
  ])
})
