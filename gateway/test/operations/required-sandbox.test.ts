/** REQUIRE_SANDBOX on a machine whose sandbox does not work: media is refused and never decoded without it. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { videoOf } from '../../src/providers/port/provider.ts'
import { createMediaPrograms } from '../../src/storage/media-programs.ts'
import { createProbeVideo } from '../../src/storage/probe-video.ts'
import { createDownloadPermits } from '../../src/videos/download-permits.ts'
import { createStepRecords } from '../../src/videos/lifecycle/step-records.ts'
import { storeResult, type StoreDependencies } from '../../src/videos/lifecycle/store-result.ts'
import { ask, expectProblem, form } from '../kit/answers.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'
import { jobForTest } from '../kit/job-for-test.ts'
import { mediaPrograms } from '../kit/media-programs.ts'
import { audioForm, encoded, wave } from '../kit/sound.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { minutes } from '../kit/time-limits.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'
import { vendorProviders } from '../kit/vendor-providers.ts'

let gateway: VendorGateway
let directory: string
/** Fails as bubblewrap does where the kernel refuses user namespaces. */
let refusedBubblewrap: string
/** Would show that the file was decoded after all. */
let ffprobe: string

beforeAll(async () => {
  gateway = await startVendorGateway()
  directory = await mkdtemp(join(tmpdir(), 'kinora-required-sandbox-'))
  refusedBubblewrap = join(directory, 'bwrap')
  ffprobe = join(directory, 'ffprobe')
  await writeFile(
    refusedBubblewrap,
    '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
  )
  await writeFile(ffprobe, `#!/bin/sh\ntouch ${join(directory, 'decoded')}\n`)
  await Promise.all([refusedBubblewrap, ffprobe].map((path) => chmod(path, 0o755)))
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const withoutNamespaces = () => ({
  BUBBLEWRAP_PATH: refusedBubblewrap,
  FFPROBE_PATH: ffprobe,
  FFMPEG_PATH: ffprobe,
})
const wasDecoded = () =>
  readFile(join(directory, 'decoded')).then(
    () => true,
    () => false,
  )

test('a recording and a thumbnail get 503 with Retry-After, and nothing is charged or decoded', async () => {
  await using strict = await startGateway({ ...withoutNamespaces(), REQUIRE_SANDBOX: 'true' }, gateway)
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance: 10 })
  const key = await createKey(postgres, accountId)
  const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
    method: 'POST',
    body: form({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  const taskId = String(body['id'])
  await completeTask(gateway, accountId, taskId, {
    bytes: await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url)),
  })
  const before = await recordOf(gateway)

  const recording = audioForm(await encoded(wave(1), 'out.flac'), { model: 'asr-1' })
  const answers = [
    await ask(`${strict.url}/v1/audio/transcriptions`, key.text, { method: 'POST', body: recording }),
    await ask(`${strict.url}/v1/videos/${taskId}/content?variant=thumbnail`, key.text),
  ]
  for (const answer of answers) {
    expectProblem(answer, 'service_unavailable')
    expect(answer.headers.get('retry-after')).toBe('10')
    expect(JSON.stringify(answer.body)).not.toMatch(/sandbox|bwrap/)
  }
  expect(await recordOf(gateway)).toEqual(before)
  expect(await wasDecoded()).toBe(false)
})

test('a result that would have to be decoded keeps its task open until the sandbox works', async () => {
  const { postgres } = gateway.database
  const dependencies = (programs: StoreDependencies['probeVideo']): StoreDependencies => ({
    postgres,
    records: createStepRecords(postgres),
    providers: vendorProviders(gateway.vendor, vendorKey),
    mediaStore,
    probeVideo: programs,
    retentionMsOf: async () => 60_000,
    downloadPermits: createDownloadPermits({ total: 1, perProvider: 1 }),
    downloadPace: async () => undefined,
    downloadRate: { bytesPerSecondMin: 0, windowMs: 1_000 },
    slowDownloadRate: { bytesPerSecondMin: 0, windowMs: 1_000 },
    wakePoller: () => undefined,
    stopping: new AbortController().signal,
    learnDuration: () => undefined,
    log: createLog({ level: 'silent' }, 'test'),
  })
  const { mediaStore } = gateway
  const strict = createProbeVideo(mediaPrograms({ ...withoutNamespaces(), REQUIRE_SANDBOX: true }))
  const key = await createKey(postgres, await createAccount(postgres, { balance: 10 }))
  const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
    method: 'POST',
    body: form({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  const taskId = String(body['id'])
  const provider = videoOf(dependencies(strict).providers.get('vendor'))
  const signal = AbortSignal.timeout(minutes(1))
  const upstream = await provider.submit(
    jobForTest({ taskId, prompt: 'a whale vendor:duration=0ms' }),
    signal,
  )
  const outcome = await provider.poll(upstream, signal)
  await postgres.query(
    `update open_tasks set stage = 'storing', run = 1, upstream = $2, outcome = $3, outcome_at = now() where task_id = $1`,
    [taskId, JSON.stringify(upstream), JSON.stringify(outcome)],
  )
  // The result is no MP4, which needs no program.
  gateway.vendor.faults.fault = 'garbage@downloadxall'

  expect(await storeResult(dependencies(strict), taskId, 1)).toEqual({ kind: 'stop' })
  const { rows } = await postgres.query('select stage from open_tasks where task_id = $1', [taskId])
  expect(rows).toEqual([{ stage: 'waiting' }])
  expect(await wasDecoded()).toBe(false)

  await postgres.query(`update open_tasks set deadline_at = now() where task_id = $1`, [taskId])
  const working = createProbeVideo(mediaPrograms({ REQUIRE_SANDBOX: true }))
  expect(await storeResult(dependencies(working), taskId, 1)).toMatchObject({
    kind: 'failed',
    code: 'upstream_error',
  })
})

test('the log has an error with the fix if the sandbox is required, and else a warning', async () => {
  const file = join(directory, 'log')
  const log = createLog({ level: 'info', file }, 'test')
  const settings = { FFMPEG_PATH: 'ffmpeg', FFPROBE_PATH: 'ffprobe', BUBBLEWRAP_PATH: refusedBubblewrap }
  const required = createMediaPrograms({ ...settings, REQUIRE_SANDBOX: true }, log)
  await expect(required.findSandbox()).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(
    await createMediaPrograms({ ...settings, REQUIRE_SANDBOX: false }, log).findSandbox(),
  ).toBeUndefined()
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const [error, warning] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const problem = expect.stringMatching(
    /No permissions to create new namespace.*Install bubblewrap/,
  ) as string
  expect(error).toMatchObject({ level: 50, msg: 'sandbox.unavailable', problem })
  expect(warning).toMatchObject({ level: 40, msg: 'sandbox.unavailable', problem })
})

test('a required sandbox that is repaired is used without a restart', async () => {
  const repaired = join(directory, 'repaired-bwrap')
  const programs = mediaPrograms({ BUBBLEWRAP_PATH: repaired, REQUIRE_SANDBOX: true })
  await expect(programs.findSandbox()).rejects.toMatchObject({ code: 'service_unavailable' })
  await writeFile(repaired, '#!/bin/sh\nexec bwrap "$@"\n', { mode: 0o755 })
  expect(await programs.findSandbox()).toEqual({ bubblewrapPath: repaired })
})
