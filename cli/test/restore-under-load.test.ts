import { execFile } from 'node:child_process'
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

import type { Environment } from '../../gateway/src/config.ts'
import type { Postgres } from '../../gateway/src/platform/postgres.ts'
import { pixel } from '../../gateway/test/kit/answers.ts'
import { createEmptyDatabase } from '../../gateway/test/kit/database.ts'
import { startStack, type Stack } from '../../gateway/test/kit/stack.ts'
import { testEnvironment } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)

const kinora = async (parameters: string[], environment: Environment): Promise<string> => {
  const env = { PATH: process.env['PATH'], ...environment }
  return (await run(process.execPath, [inject('command'), ...parameters], { env })).stdout
}

const createdBefore = 30
const createdDuring = 60
const createdAfter = 5

interface FinalTask {
  id: string
  state: string
  captured: number
  media: string | null
  sha256: string | null
}

const finalTasks = async (postgres: Postgres): Promise<FinalTask[]> => {
  const { rows } = await postgres.query<FinalTask & Record<string, unknown>>(
    `select t.id, t.state, t.captured_micros as captured, m.storage_key as media, encode(m.sha256, 'hex') as sha256
       from video_tasks t left join media m on m.id = t.media_id
      where t.finished_at is not null order by t.id`,
  )
  return rows
}

const idsOf = async (postgres: Postgres, statement: string): Promise<string[]> => {
  const { rows } = await postgres.query<{ id: string }>(statement)
  return rows.map(({ id }) => id)
}

// The worker deletes failed jobs at the vendor, so a task whose job fails after the snapshot would end only when the vendor
// has not known it for two minutes. These tasks fail before the snapshot.
const failing = 5

/** Tasks in different stages: some end soon, some have images, and some do not end before the vendor is released. */
const createOne = (stack: Stack, index: number): Promise<string> => {
  const prompt = ['A whale', 'A vendor:duration=50ms whale', 'A vendor:never whale'][index % 3]
  return stack.create(`${prompt} ${index}`, index % 5 === 0 ? { input_reference: pixel } : {})
}

/** Creates tasks, one after the other, while the work goes on. */
const whileCreating = async <Result>(stack: Stack, work: () => Promise<Result>): Promise<Result> => {
  let isDone = false
  const create = async () => {
    for (let index = 0; index < createdDuring && !isDone; index += 1) await createOne(stack, index)
  }
  const creating = create()
  try {
    return await work()
  } finally {
    isDone = true
    await creating
  }
}

test('a backup under load restores into a new instance with an empty engine: ended tasks are the same, open ones end and are charged once', async () => {
  await using backups = await mkdtempDisposable(join(tmpdir(), 'kinora-backups-'))
  await using target = await createEmptyDatabase()
  await using before = await startStack({ vendorDurationMs: 1_500, slots: 60 })
  for (let index = 0; index < failing; index += 1) await before.create(`A vendor:fail whale ${index}`)
  for (let index = 0; index < createdBefore; index += 1) await createOne(before, index)
  await before.until('some tasks have ended and others wait', async () => {
    const { waiting = 0 } = await before.stages()
    const { completed = 0, failed = 0 } = await before.states()
    return waiting > 0 && completed > 0 && failed === failing
  })
  await whileCreating(before, () =>
    kinora(['backup', backups.path], testEnvironment(before.database.url, before.directory)),
  )
  const name = (await readdir(backups.path)).find((each) => each !== 'erasures') ?? ''
  const path = join(backups.path, name)
  const manifest = JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8')) as {
    snapshot_at: string
    database: { tasks: number; open_tasks: number }
    media: { missing: unknown[] }
  }
  for (let index = 0; index < createdAfter; index += 1) await createOne(before, index)
  // The machine is lost: every process dies, and only the vendor and the backup remain.
  await Promise.all([before.api.kill(), ...before.workers.map((worker) => worker.kill())])
  await before.engine.stop()

  const environment = testEnvironment(target.url, backups.path)
  const stdout = await kinora(['restore', path], environment)
  console.log(stdout)
  expect(stdout).toMatch(/^ledger: consistent/m)
  expect(stdout).toContain(`Everything after ${manifest.snapshot_at} is not in this backup`)
  const ended = await finalTasks(target.postgres)
  const open = await idsOf(target.postgres, 'select task_id as id from open_tasks')
  expect(manifest.database).toMatchObject({ tasks: ended.length + open.length, open_tasks: open.length })
  expect(ended.length).toBeGreaterThan(0)
  expect(open.length).toBeGreaterThan(0)
  const created = await idsOf(before.database.postgres, 'select id from video_tasks')
  const lost = created.length - ended.length - open.length
  expect(lost).toBeGreaterThanOrEqual(createdAfter)

  await using after = await startStack({
    slots: 60,
    existing: { database: target, vendor: before.vendor },
    environment: { MEDIA_DIRECTORY: environment['MEDIA_DIRECTORY'] },
  })
  before.vendor.release(0)
  await after.until('no task is open', async () => {
    // Jobs that are submitted now may be of the kind that does not end either.
    before.vendor.release(0)
    return Object.keys(await after.stages()).length === 0
  })

  const now = new Map((await finalTasks(target.postgres)).map((task) => [task.id, task]))
  for (const task of ended) expect(now.get(task.id)).toEqual(task)
  for (const id of open) expect(now.get(id)?.state).toMatch(/^(completed|failed)$/)
  const content = async (stack: { url: string }, id: string) => {
    const headers = { authorization: `Bearer ${before.key}`, accept: 'video/mp4' }
    const response = await fetch(`${stack.url}/v1/videos/${id}/content`, { headers })
    expect(response.status).toBe(200)
    return Buffer.from(await response.arrayBuffer())
  }
  for (const { id, media } of ended) {
    if (media === null) continue
    const original = await readFile(join(before.directory, 'media', media))
    expect((await content(after, id)).equals(original)).toBe(true)
  }
  const { completed = 0, failed = 0 } = await after.states()
  expect(completed + failed).toBe(ended.length + open.length)
  await after.assertLedger({ completed, failed })
  // The vendor recognizes repeats, so a task that was submitted again after the restore has one job.
  const keys = before.vendor.jobs().map(({ idempotencyKey }) => idempotencyKey)
  expect(new Set(keys).size).toBe(keys.length)
  console.log(
    `backup under load: ${ended.length} ended and ${open.length} open tasks, ${lost} created after the snapshot, ${manifest.media.missing.length} files missing`,
  )
})
