/** Runs and loops in a real engine, and what it knows of the workers while those of two versions share one address. */
import { expect, test } from 'vitest'

import { readInvocations } from '../../src/platform/engine/invocation-store.ts'
import { loop } from '../../src/platform/engine/loop.ts'
import { connectEngine, type Engine } from '../../src/platform/engine/restate.ts'
import { runKey } from '../../src/platform/engine/run-key.ts'
import { runService } from '../../src/platform/engine/run-service.ts'
import { createRunningSteps } from '../../src/platform/engine/running-steps.ts'
import { serveEngine } from '../../src/platform/engine/serve-engine.ts'
import { createLog } from '../../src/platform/log.ts'
import { startEngine } from '../kit/start-engine.ts'

const namesOf = (services: { name: string }[]) => services.map(({ name }) => name)
const log = createLog({ level: 'silent' }, 'test')

test('a worker is registered only if the engine knows everything that it serves', async () => {
  await using started = await startEngine()
  const { engine, workerUrl, settings } = started
  const [ofOld, ofNew] = [createRunningSteps(), createRunningSteps()]
  const before = ['dispatch', 'poll'].map((name) => loop(name, ofOld, async () => ({ nextMs: 60_000 })))
  const after = ['dispatch', 'poll', 'deliver'].map((name) =>
    loop(name, ofNew, async () => ({ nextMs: 60_000 })),
  )
  const old = await serveEngine(before, ofOld, settings, log)
  await engine.register(workerUrl)
  expect(await engine.isRegistered(workerUrl, namesOf(before))).toBe(true)
  // The engine has asked a worker of the previous version, and the new one notices.
  expect(await engine.isRegistered(workerUrl, namesOf(after))).toBe(false)
  await old.close()
  const upgraded = await serveEngine(after, ofNew, settings, log)
  await engine.register(workerUrl)
  expect(await engine.isRegistered(workerUrl, namesOf(after))).toBe(true)
  // A worker of the previous version that is still there has nothing to add.
  expect(await engine.isRegistered(workerUrl, namesOf(before))).toBe(true)
  expect(await engine.isRegistered('http://127.0.0.1:9', namesOf(before))).toBe(false)
  await upgraded.close()
})

/** Invocations that are queued or executed, without scheduled ones. */
const countActive = async (engine: Engine, service: string) =>
  (
    await engine.query<{ id: string }>(
      `select id from sys_invocation where target_service_name = '${service}' and status not in ('completed', 'scheduled')`,
    )
  ).length

test('wake-ups during a tick cause one further tick, and none is lost', async () => {
  await using started = await startEngine()
  const { engine, workerUrl, settings } = started
  const steps = createRunningSteps()
  // A tick that takes too long is repeated with the same id.
  const ticks = new Set<string>()
  let release = () => {}
  const isHeld = new Promise<void>((resolve) => {
    release = resolve
  })
  const endless = loop('endless', steps, async (_key, tickId) => {
    ticks.add(tickId)
    if (ticks.size === 1) await isHeld
    return { nextMs: 60_000 }
  })
  const served = await serveEngine([endless], steps, settings, log)
  await engine.register(workerUrl)
  await engine.startLoop('endless', 'a')
  await expect.poll(() => ticks.size).toBe(1)
  // Engines of other processes, because one engine sends few wake-ups.
  const others = Array.from({ length: 1_000 }, () => connectEngine(started.urls, log))
  for (const each of others) each.wake('endless', 'a')
  // The tick that goes on, and the further one.
  await expect.poll(() => countActive(engine, 'endless')).toBe(2)
  await Promise.all(others.map((each) => each.close()))
  expect(ticks.size).toBe(1)
  release()
  await expect.poll(() => countActive(engine, 'endless')).toBe(0)
  expect(ticks.size).toBe(2)
  // A wake-up after the tick causes one more.
  engine.wake('endless', 'a')
  await expect.poll(() => ticks.size).toBe(3)
  await served.close()
})

test('delayed wake-ups of many processes are one, and others do not wait for them', async () => {
  await using started = await startEngine()
  const { engine, workerUrl, settings } = started
  const steps = createRunningSteps()
  const ticks = new Set<string>()
  const endless = loop('endless', steps, async (_key, tickId) => {
    ticks.add(tickId)
    return { nextMs: 600_000 }
  })
  const served = await serveEngine([endless], steps, settings, log)
  await engine.register(workerUrl)
  const others = Array.from({ length: 100 }, () => connectEngine(started.urls, log))
  const waiting = () =>
    engine.query<{ id: string }>(
      `select id from sys_invocation where target_service_name = 'endless' and target_handler_name = 'wake' and status = 'scheduled'`,
    )
  for (const each of others) each.wake('endless', 'a', 300_000)
  await expect.poll(async () => (await waiting()).length).toBe(1)
  for (const each of others) each.wake('endless', 'b', 1)
  // It ticks although another key waits, and its own loop is woken without a delay.
  await expect.poll(() => ticks.size).toBeGreaterThan(0)
  const before = ticks.size
  engine.wake('endless', 'a')
  await expect.poll(() => ticks.size).toBeGreaterThan(before)
  expect(await waiting()).toHaveLength(1)
  await Promise.all(others.map((each) => each.close()))
  await served.close()
})

test('runs that are started together are one call, and only those that fail are repeated', async () => {
  await using started = await startEngine()
  const { engine, workerUrl, settings } = started
  const steps = createRunningSteps()
  const begun: string[] = []
  const failing = new Set(['video_1~7', 'video_4~7'])
  let release = () => {}
  const isHeld = new Promise<void>((resolve) => {
    release = resolve
  })
  const advance = runService<{ isStored?: boolean }>(
    'advance',
    steps,
    async (run, { isStored = false }) => {
      const key = runKey(run)
      begun.push(`${key}${isStored ? ' stored' : ''}`)
      if (failing.delete(key)) throw new Error('planted')
      await isHeld
    },
    (run, input) => engine.start('advance', { ...run, ...input }),
  )
  const runs = [0, 1, 2, 3, 4].map((index) => ({ taskId: `video_${index}`, run: 7 }))
  const starter = loop(
    'starter',
    steps,
    async () => ({
      starts: [
        ...runs.map((run) => ({ service: 'advance', run })),
        { service: 'advance', run: { taskId: 'video_5', run: 8 }, input: { isStored: true } },
      ],
    }),
    { runsPerCall: 4 },
  )
  const served = await serveEngine([advance, starter], steps, settings, log)
  await engine.register(workerUrl)
  await engine.startLoop('starter', 'a')
  const keys = async () => (await readInvocations(engine, ['advance'])).map(({ key }) => key).toSorted()
  // The first one goes on while those that it was started with are held. The last one of its group is repeated by the engine.
  await expect
    .poll(keys)
    .toEqual(['video_0~7 video_1~7 video_2~7 video_3~7', 'video_1~7', 'video_4~7', 'video_5~8'])
  await expect.poll(() => begun.length).toBe(8)
  expect(begun.toSorted()).toEqual([
    ...['video_0~7', 'video_1~7', 'video_1~7', 'video_2~7', 'video_3~7', 'video_4~7', 'video_4~7'],
    'video_5~8 stored',
  ])
  expect(await readInvocations(engine, ['advance'], ['video_2~7'])).toContainEqual(
    expect.objectContaining({ key: 'video_0~7 video_1~7 video_2~7 video_3~7' }),
  )
  release()
  await expect.poll(keys).toEqual([])
  expect(begun).toHaveLength(8)
  await served.close()
})

test('a run that goes on is not started again, and the engine lists it by its key and knows no message of an error', async () => {
  await using started = await startEngine()
  const { engine, workerUrl, settings } = started
  const steps = createRunningSteps()
  const begun: string[] = []
  let release = () => {}
  const isHeld = new Promise<void>((resolve) => {
    release = resolve
  })
  const advance = runService('advance', steps, async (run) => {
    begun.push(runKey(run))
    await isHeld
  })
  let isMended = false
  const fail = runService('fail', steps, async () => {
    if (!isMended) throw new Error('planted', { cause: new Error('planted') })
  })
  const served = await serveEngine([advance, fail], steps, settings, log)
  await engine.register(workerUrl)
  await engine.start('fail', { taskId: 'video_0', run: 1 })
  const known = async () =>
    JSON.stringify(await engine.query(`select * from sys_invocation where target_service_name = 'fail'`))
  await expect.poll(known).toMatch(/Error at .*loops-and-runs/)
  expect(await known()).not.toContain('planted')
  isMended = true
  const run = { taskId: 'video_1', run: 7 }
  await engine.start('advance', run)
  await expect.poll(() => begun).toEqual(['video_1~7'])
  await engine.start('advance', run)
  expect(await readInvocations(engine, ['advance'], ['video_1~7', 'video_2~1'])).toMatchObject([
    { service: 'advance', key: 'video_1~7' },
  ])
  await engine.start('advance', { taskId: 'video_1', run: 8 })
  await expect.poll(() => begun).toEqual(['video_1~7', 'video_1~8'])
  release()
  await expect.poll(() => countActive(engine, 'advance')).toBe(0)
  expect(begun).toHaveLength(2)
  await served.close()
})
