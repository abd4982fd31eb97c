/** What the engine knows of the workers, while workers of two versions share one address. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { startRestateServer } from '../../../cli/src/dev/restate-server.ts'
import { AllowedHosts } from '../../src/platform/allowed-hosts.ts'
import { connectEngine, loop, serveDurable } from '../../src/platform/engine/restate.ts'
import { createRunningSteps } from '../../src/platform/engine/running-steps.ts'
import { createLog } from '../../src/platform/log.ts'
import { reservePorts } from '../kit/reserve-ports.ts'

const namesOf = (services: { name: string }[]) => services.map(({ name }) => name)
const log = createLog({ level: 'silent' }, 'test')

test('a worker is registered only if the engine knows everything that it serves', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-registration-'))
  const ports = await reservePorts(directory.path, ['ingress', 'admin', 'node', 'worker'])
  const restate = await startRestateServer({
    directory: join(directory.path, 'restate'),
    ports,
    environment: { PATH: process.env['PATH'] },
    logDirectory: join(directory.path, 'logs'),
  })
  const engine = connectEngine(restate, log)
  const workerUrl = `http://127.0.0.1:${ports.worker}`
  const settings = {
    host: '127.0.0.1',
    port: ports.worker,
    allowedHosts: new AllowedHosts([]),
    identityKeys: [],
  }
  const started = () => ({ steps: createRunningSteps(), suspendAfterMs: 200 })
  const [ofOld, ofNew] = [started(), started()]
  const before = ['dispatch', 'poll'].map((name) => loop(name, ofOld, async () => ({ nextMs: 60_000 })))
  const after = ['dispatch', 'poll', 'deliver'].map((name) =>
    loop(name, ofNew, async () => ({ nextMs: 60_000 })),
  )
  try {
    const old = await serveDurable(before, ofOld.steps, settings, log)
    await engine.register(workerUrl)
    expect(await engine.isRegistered(workerUrl, namesOf(before))).toBe(true)
    // The engine has asked a worker of the previous version, and the new one notices.
    expect(await engine.isRegistered(workerUrl, namesOf(after))).toBe(false)
    await old.close()
    const upgraded = await serveDurable(after, ofNew.steps, settings, log)
    await engine.register(workerUrl)
    expect(await engine.isRegistered(workerUrl, namesOf(after))).toBe(true)
    // A worker of the previous version that is still there has nothing to add.
    expect(await engine.isRegistered(workerUrl, namesOf(before))).toBe(true)
    expect(await engine.isRegistered('http://127.0.0.1:9', namesOf(before))).toBe(false)
    await upgraded.close()
  } finally {
    await engine.close()
    await restate.stop()
  }
})
