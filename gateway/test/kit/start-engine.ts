import { mkdtempDisposable, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startRestateServer } from '../../../cli/src/dev/restate-server.ts'
import { AllowedHosts } from '../../src/platform/allowed-hosts.ts'
import { connectEngine, type Engine } from '../../src/platform/engine/restate.ts'
import { createLog } from '../../src/platform/log.ts'
import { reservePorts } from './reserve-ports.ts'

export interface StartedEngine extends AsyncDisposable {
  urls: { ingressUrls: string[]; adminUrls: string[] }
  engine: Engine
  /** Where a worker of the test has to serve, and the settings with which it does. */
  workerUrl: string
  settings: { host: string; port: number; allowedHosts: AllowedHosts; identityKeys: string[] }
  /** Replaces the engine by one without data, at the same address. */
  empty: () => Promise<void>
}

/** Starts an engine without workers. */
export const startEngine = async (): Promise<StartedEngine> => {
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-engine-'))
  const ports = await reservePorts(directory.path, ['ingress', 'admin', 'node', 'worker'])
  const data = join(directory.path, 'restate')
  const start = () =>
    startRestateServer({
      directory: data,
      ports,
      environment: { PATH: process.env['PATH'] },
      logDirectory: join(directory.path, 'logs'),
    })
  let restate = await start()
  const urls = { ingressUrls: [restate.ingressUrl], adminUrls: [restate.adminUrl] }
  const engine = connectEngine(urls, createLog({ level: 'silent' }, 'test'))
  return {
    urls,
    engine,
    workerUrl: `http://127.0.0.1:${ports.worker}`,
    settings: { host: '127.0.0.1', port: ports.worker, allowedHosts: new AllowedHosts([]), identityKeys: [] },
    empty: async () => {
      await restate.stop()
      await rm(data, { recursive: true })
      restate = await start()
    },
    [Symbol.asyncDispose]: async () => {
      await engine.close()
      await restate.stop()
      await directory[Symbol.asyncDispose]()
    },
  }
}
