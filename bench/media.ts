/**
 * What a result costs on its way from the vendor to the media store: processor time by process, memory and tasks per second, by
 * size and store. Rounds alternate with as many bare copies by a small program, and by curl.
 */
import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'

import { apiKey } from '../gateway/test/faults/fault-stack.ts'
import { startCeph } from '../gateway/test/kit/ceph.ts'
import { peakDuring } from '../gateway/test/kit/resident-memory.ts'
import { startBaseline, type Baseline } from './baselines/start-baseline.ts'
import { createVideoOf, startBenchStack, untilNoneIsOpen } from './bench-stack.ts'
import { cpuMsOf } from './measure/cpu-time.ts'
import { minus, per, total, type Figures } from './measure/figures.ts'
import { runLoad } from './measure/load.ts'
import { makeResultVideo, type Layout, type ResultVideo } from './measure/result-videos.ts'
import { measureInTurns, type Rounds } from './measure/rounds.ts'

export type StoreKind = 'disk' | 's3'

export interface MediaOptions {
  results: { megabytes: number; layout: Layout; tasks: number }[]
  /** Tasks of a round whose results are a few kilobytes. */
  emptyTasks: number
  rounds: number
}

/** Processor time is per task. */
export interface MediaFigures {
  store: StoreKind
  empty: Figures[]
  results: {
    megabytes: number
    layout: Layout
    sizeBytes: number
    rounds: Rounds<'kinora' | 'bare' | 'curl'>
  }[]
}

interface Place {
  environment: Record<string, string>
  endpoint: string
}

/** Without the proxy of the tests of faults, which would be a part of the way. */
const startBucketPlace = async (directory: string, ended: AsyncDisposableStack): Promise<Place> => {
  await mkdir(directory)
  const ceph = await startCeph(directory)
  ended.defer(ceph.stop)
  const { endpoint, accessKeyId, secretAccessKey } = ceph
  const credentials = { accessKeyId, secretAccessKey }
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: 'bench' }))
  client.destroy()
  const environment = {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    MEDIA_STORE: `s3://bench/media?endpoint=${encodeURIComponent(endpoint)}&path_style=true`,
  }
  // The baselines inherit the credentials.
  Object.assign(process.env, environment)
  return { environment, endpoint }
}

/** The URL of a finished job, from which the baselines download. */
const contentUrlOf = async (vendorUrl: string, { name }: ResultVideo): Promise<string> => {
  const response = await fetch(`${vendorUrl}/v1/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'vidB-2', seconds: '4', size: '1280x720' },
      prompt: `vendor:duration=0 vendor:video=${name}`,
    }),
  })
  const { id } = (await response.json()) as { id: string }
  return `${vendorUrl}/v1/videos/${id}/content`
}

export const measureMedia = async (store: StoreKind, options: MediaOptions): Promise<MediaFigures> => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  await using ended = new AsyncDisposableStack()
  const videos = []
  for (const result of options.results)
    videos.push({ ...result, video: await makeResultVideo(result.megabytes, result.layout) })
  const place =
    store === 's3'
      ? await startBucketPlace(join(directory.path, 'ceph'), ended)
      : { environment: {}, endpoint: '' }
  await using bench = await startBenchStack({
    environment: { ...place.environment, RESULT_DECODE_PERCENT: '' },
    videoDirectory: videos[0]?.video.directory ?? '',
  })
  const { stack, keys, origin, cpu } = bench
  const [worker] = stack.workers

  const measured = async (
    pid: number | undefined,
    tasks: number,
    cpuOf: () => Figures,
    work: () => Promise<void>,
  ): Promise<Figures> => {
    const before = cpuOf()
    const startedMs = performance.now()
    const { peakMib } = await peakDuring(pid ?? 0, work)
    const seconds = (performance.now() - startedMs) / 1000
    const used = per(minus(cpuOf(), before), tasks)
    return { ...used, cpu: total(used), 'per second': tasks / seconds, 'peak MiB': peakMib }
  }
  const runTasks = (tasks: number, directive: string) =>
    measured(worker.pid(), tasks, cpu, async () => {
      const create = createVideoOf(keys, `vendor:duration=0 ${directive}`)
      await runLoad(origin, create, { until: { count: tasks } })
      await untilNoneIsOpen(stack)
    })
  const copy = (baseline: Baseline, tasks: number) =>
    measured(
      baseline.pid,
      tasks,
      () => ({ copy: cpuMsOf(baseline.pid) }),
      () => baseline.ask(tasks),
    )

  const { empty } = await measureInTurns({ empty: () => runTasks(options.emptyTasks, '') }, options.rounds)
  const results = []
  for (const { megabytes, layout, tasks, video } of videos) {
    const url = await contentUrlOf(stack.vendors.repeatable.url, video)
    const given = [url, `Bearer ${apiKey}`, directory.path, place.endpoint]
    using bare = await startBaseline('bare-copy', ['node', ...given])
    using curl = await startBaseline('bare-copy', ['curl', ...given])
    const rounds = await measureInTurns(
      {
        kinora: () => runTasks(tasks, `vendor:video=${video.name}`),
        bare: () => copy(bare, tasks),
        curl: () => copy(curl, tasks),
      },
      options.rounds,
    )
    results.push({ megabytes, layout, sizeBytes: video.sizeBytes, rounds })
  }
  return { store, empty, results }
}
