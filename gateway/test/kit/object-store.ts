/** Starts an S3 server once per run. The tests of a file share it, and each uses its own bucket. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'

import { startCeph } from './ceph.ts'

declare module 'vitest' {
  interface ProvidedContext {
    objectStore: { endpoint: string; accessKeyId: string; secretAccessKey: string }
  }
}

export default async (project: TestProject) => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-ceph-'))
  const { endpoint, accessKeyId, secretAccessKey, stop } = await startCeph(directory)
  project.provide('objectStore', { endpoint, accessKeyId, secretAccessKey })
  return async () => {
    await stop()
    await rm(directory, { recursive: true, force: true })
  }
}
