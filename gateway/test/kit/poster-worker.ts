/** A worker of poster tasks in a process of its own, which a test has it end at a given point of a task. */
import { randomUUID } from 'node:crypto'
import { link, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { AllowedHosts } from '../../src/platform/allowed-hosts.ts'
import { createRunningSteps } from '../../src/platform/engine/running-steps.ts'
import { serveEngine } from '../../src/platform/engine/serve-engine.ts'
import { createLog } from '../../src/platform/log.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { posterServices } from './poster-task.ts'

export interface PosterWorkerSettings {
  databaseUrl: string
  port: number
  /** Each effect of a task is a file with the run that performed it. */
  directory: string
  /** Where this process kills itself. */
  killAt: { point: string; taskId: string } | undefined
}

const [given = ''] = process.argv.slice(2)
const { databaseUrl, port, directory, killAt } = JSON.parse(given) as PosterWorkerSettings

const log = createLog({ level: 'silent' }, 'test')
const steps = createRunningSteps()
const services = posterServices(
  {
    postgres: connectPostgres({ url: databaseUrl, connectionsMax: 4 }, log),
    perform: async (effect, { taskId, run }) => {
      // Whole or not at all, because the process may be killed at any time, and only the first execution counts.
      const written = join(directory, randomUUID())
      await writeFile(written, String(run))
      try {
        await link(written, join(directory, `${taskId}.${effect}`))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    },
    reach: (point, taskId) => {
      if (point === killAt?.point && taskId === killAt.taskId) process.kill(process.pid, 'SIGKILL')
    },
  },
  steps,
)
await serveEngine(
  services,
  steps,
  { host: '127.0.0.1', port, allowedHosts: new AllowedHosts([]), identityKeys: [] },
  log,
)
process.send?.('ready')
