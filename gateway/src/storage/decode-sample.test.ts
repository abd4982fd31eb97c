import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { mediaPrograms } from '../../test/kit/media-programs.ts'
import { makeVideo } from '../../test/kit/sample-video.ts'
import { createLog } from '../platform/log.ts'
import { createIsDamaged } from './decode-sample.ts'
import { probeMp4 } from './probe-mp4.ts'

const log = createLog({ level: 'silent' }, 'test')
let directory: string
let intact: string
/** Its packets have the right lengths, but wrong content. */
let damaged: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-decode-'))
  intact = join(directory, 'intact.mp4')
  damaged = join(directory, 'damaged.mp4')
  const bytes = await makeVideo(directory, { seconds: 2 })
  await writeFile(intact, bytes)
  const start = bytes.indexOf('mdat') + 2_000
  await writeFile(damaged, Buffer.from(bytes).fill(0x5a, start, start + 400))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

test('a video with other bytes in a frame is damaged, although its packets seem intact', async () => {
  const isDamaged = createIsDamaged(mediaPrograms(), 25, log)
  expect(await probeMp4(damaged, { checksPackets: true })).toBeDefined()
  expect(await isDamaged(damaged, 2_000)).toBe(true)
  expect(await isDamaged(intact, 2_000)).toBe(false)
})

test('without a budget, or a program that works, a video is not decoded and counts as intact', async () => {
  const isUnpaid = createIsDamaged(mediaPrograms(), 0, log)
  expect(await isUnpaid(damaged, 2_000)).toBe(false)
  const broken = mediaPrograms({ FFMPEG_PATH: '/nowhere/ffmpeg' })
  expect(await createIsDamaged(broken, 25, log)(damaged, 2_000)).toBe(false)
})
