import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { openJobDirectory } from './job-directory.ts'
import type { JobRecord } from './job.ts'

let root: string

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-jobs-'))
})
afterEach(async () => {
  await rm(root, { recursive: true, force: true })
})

function jobRecord(id: string, createdAt = '2026-01-01T00:00:00.000Z'): JobRecord {
  const request = { model: 'm', prompt: 'p', seconds: 4, width: 128, height: 128, watermark: true }
  return { id, state: 'queued', request, references: [], characters: [], source: undefined, createdAt }
}

const log = () => {}

test('jobs with any id are loaded after a restart, oldest first', async () => {
  const directory = await openJobDirectory(root, log)
  await directory.admit(
    await directory.beginUpload(),
    jobRecord('vidB-2:17/../x', '2026-01-02T00:00:00.000Z'),
  )
  await directory.admit(await directory.beginUpload(), jobRecord('video_1'))
  const reopened = await openJobDirectory(root, log)
  expect((await reopened.load()).map((record) => record.id)).toEqual(['video_1', 'vidB-2:17/../x'])
})

test('after a crash only complete jobs remain', async () => {
  const directory = await openJobDirectory(root, log)
  await directory.admit(await directory.beginUpload(), jobRecord('video_1'))
  const work = await directory.beginWork('video_1')
  await writeFile(path.join(work, 'film.mp4'), 'half a film')
  await directory.beginUpload()
  const reopened = await openJobDirectory(root, log)
  expect(await reopened.load()).toMatchObject([{ id: 'video_1', state: 'queued' }])
  const [folder, ...others] = await readdir(root)
  expect(others).toEqual([])
  expect(await readdir(path.join(root, folder!))).toEqual(['job.json'])
})

test('a finished job retains its film, and removing the job deletes all its files', async () => {
  const directory = await openJobDirectory(root, log)
  const record = jobRecord('video_1')
  await directory.admit(await directory.beginUpload(), record)
  const film = path.join(await directory.beginWork('video_1'), 'film.mp4')
  await writeFile(film, 'a film')
  const sizeBytes = await directory.storeResult('video_1', film)
  await directory.save({ ...record, state: 'done', sizeBytes })
  await directory.removeInputs(record)
  expect(await (await openJobDirectory(root, log)).load()).toMatchObject([{ state: 'done', sizeBytes: 6 }])
  await directory.remove('video_1')
  expect(await readdir(root)).toEqual([])
})

test('a broken record is logged and does not prevent loading the others', async () => {
  const events: string[] = []
  const directory = await openJobDirectory(root, (event) => events.push(event))
  await directory.admit(await directory.beginUpload(), jobRecord('video_1'))
  await mkdir(path.join(root, 'job-broken'))
  await writeFile(path.join(root, 'job-broken', 'job.json'), '{')
  expect(await directory.load()).toHaveLength(1)
  expect(events).toEqual(['local.job_unreadable'])
})
