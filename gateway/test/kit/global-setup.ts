/** Migrates one template database per run. Each test file clones it, which takes a tenth of a second. */
import { mkdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import pg from 'pg'
import type { TestProject } from 'vitest/node'

import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
    template: string
    redisUrl: string
    /** A directory for the statements that the tests of all projects execute. */
    statements: string
  }
}

const serverUrl = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'
const redisUrl = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const statements = fileURLToPath(
  new URL(`../../../node_modules/.cache/kinora/statements-${process.pid}`, import.meta.url),
)

const withServer = async (work: (client: pg.Client) => Promise<unknown>) => {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

const template = `kinora_template_${process.pid}`
/** Several projects run in this process; the first one migrates. */
const variable = 'KINORA_TEST_TEMPLATE'

export default async (project: TestProject) => {
  project.provide('serverUrl', serverUrl)
  project.provide('template', template)
  project.provide('redisUrl', redisUrl)
  project.provide('statements', statements)
  if (process.env[variable] === template) return undefined
  process.env[variable] = template
  await withServer(async (client) => {
    await client.query(`drop database if exists ${template} with (force)`)
    await client.query(`create database ${template}`)
  })
  const postgres = connectPostgres(
    { url: new URL(`/${template}`, serverUrl).href, connectionsMax: 1 },
    createLog({ level: 'silent' }, 'test'),
  )
  await migrate(postgres)
  await postgres.close()
  await mkdir(statements, { recursive: true })
  return async () => {
    await withServer((client) => client.query(`drop database if exists ${template} with (force)`))
    await rm(statements, { recursive: true, force: true })
  }
}
