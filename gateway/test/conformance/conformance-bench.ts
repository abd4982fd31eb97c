/** A simulated vendor with an adapter, and the steps that the guarantees of conformance.ts use. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

import { Value } from 'typebox/value'
import { expect, vi } from 'vitest'

import { accountSecrets } from '../../../dev/vendor/control.ts'
import { startVendor, type Vendor, type VendorOptions } from '../../../dev/vendor/vendor.ts'
import { ProviderFailure } from '../../src/providers/port/failure.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../../src/providers/port/video.ts'
import { protocols } from '../../src/providers/registry.ts'
import { jobForTest } from '../kit/job-for-test.ts'
import { listenForTest } from '../kit/listen-for-test.ts'
import { seconds } from '../kit/time-limits.ts'

/** A protocol under test. */
export interface Speaker {
  /** The protocol name of `providers/registry.ts`. */
  kind: string
  /** The variant, if there are several. */
  variant?: string
  /** A model by the vendor's name. */
  model: string
  /** Settings that differ from the defaults. */
  own?: Record<string, unknown>
  /** The path below the vendor's URL. */
  basePath?: string
  /** Guarantees that the protocol cannot give, with the reasons. */
  cannot: Record<string, string>
}

export const apiKey = 'Rk3vQ9-conformance'
export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
export const sample = await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url))

/** Long enough for every successful call; no test waits for it. */
export const patientMs = seconds(30)
/** The timeout of a connection that never succeeds. */
export const shortMs = 200
/** How late a call may notice its timeout. */
const graceMs = 3000

interface Changes {
  baseUrl?: string
  apiKey?: string
  resultOrigins?: string[]
}

export interface Bench extends AsyncDisposable {
  vendor: Vendor
  video: VideoProvider
  connect: (changes: Changes) => VideoProvider
  job: (words?: string) => VideoJob
  /** Makes a call and asserts that it ends in time, with a value or a `ProviderFailure`. */
  attempt: <Value>(
    call: (signal: AbortSignal) => Promise<Value>,
    signal?: AbortSignal,
  ) => Promise<Value | ProviderFailure>
  /** Like `call`, but the call must succeed. */
  succeed: <Value>(call: (signal: AbortSignal) => Promise<Value>) => Promise<Value>
  expectClean: (text: string) => void
}

/** Connects the adapter of a protocol to a vendor. */
export function connectTo(speaker: Speaker, vendorUrl: string, changes: Changes = {}): VideoProvider {
  const protocol = protocols[speaker.kind]
  if (protocol === undefined) throw new Error(`there is no protocol ${speaker.kind}`)
  const own = Value.Default(protocol.settings, { ...speaker.own })
  const { video } = protocol.connect(
    {
      name: 'tried',
      baseUrl: `${vendorUrl}${speaker.basePath ?? ''}`,
      apiKey,
      connections: 64,
      resultOrigins: [],
      ffmpegPath: 'ffmpeg',
      ...changes,
    },
    own as never,
  )
  if (video === undefined) throw new Error(`${speaker.kind} makes no videos`)
  return video
}

export async function openBench(speaker: Speaker, options: VendorOptions = {}): Promise<Bench> {
  const vendor = await startVendor({ apiKey, durationMs: 0, ...options })
  const { host, port } = new URL(vendor.url)
  const secrets = [apiKey, host, port, ...accountSecrets]
  const connect: Bench['connect'] = (changes) => connectTo(speaker, vendor.url, changes)

  const expectClean = (text: string): void => {
    for (const secret of secrets) expect(text).not.toContain(secret)
  }

  const attempt: Bench['attempt'] = async (call, signal = AbortSignal.timeout(patientMs)) => {
    const late = AbortSignal.any([signal, AbortSignal.timeout(patientMs)])
    let abortedAt = Infinity
    late.addEventListener('abort', () => (abortedAt = performance.now()))
    try {
      return await call(signal)
    } catch (error) {
      expect(error).toBeInstanceOf(ProviderFailure)
      expectClean((error as ProviderFailure).message)
      return error as ProviderFailure
    } finally {
      expect(performance.now() - abortedAt).toBeLessThan(graceMs)
    }
  }

  let jobs = 0
  return {
    vendor,
    video: connect({}),
    connect,
    attempt,
    expectClean,
    succeed: async (call) => {
      const value = await attempt(call)
      if (value instanceof ProviderFailure) throw value
      return value
    },
    // A unique prompt, because some protocols have no other way to tell jobs apart.
    job: (words = '') =>
      jobForTest({
        taskId: `task-${(jobs += 1)}`,
        model: speaker.model,
        prompt: `cat number ${jobs} ${words}`,
      }),
    [Symbol.asyncDispose]: () => vendor.close(),
  }
}

export const kept = <Value extends Opaque>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value

export const submitted = async ({ video, succeed, job }: Bench, words?: string): Promise<Opaque> =>
  kept(await succeed((signal) => video.submit(job(words), signal)))

/** Polls until there is an outcome. Failed polls are repeated, as in production. */
export async function outcomeOf(
  { video, attempt, expectClean }: Bench,
  ref: Opaque,
): Promise<VideoJobStatus> {
  for (let polls = 0; polls < 200; polls += 1) {
    const status = await attempt((signal) => video.poll(ref, signal))
    if (status instanceof ProviderFailure) {
      expect(['unknown', 'busy', 'not_delivered']).toContain(status.kind)
      continue
    }
    if (status.kind === 'refused') expectClean(status.message)
    if (status.kind !== 'running') return kept(status)
    expectProgress(status)
    await wait(5)
  }
  throw new Error('the job never ended')
}

export function expectProgress({
  progress,
  pollAfterMs,
}: Extract<VideoJobStatus, { kind: 'running' }>): void {
  if (progress !== undefined) {
    expect(Number.isInteger(progress)).toBe(true)
    expect(progress).toBeGreaterThanOrEqual(0)
    expect(progress).toBeLessThan(100)
  }
  if (pollAfterMs !== undefined) expect(pollAfterMs).toBeGreaterThanOrEqual(0)
}

export async function resultOf(bench: Bench, ref: Opaque): Promise<Opaque> {
  const outcome = await outcomeOf(bench, ref)
  expect(outcome).toMatchObject({ kind: 'done' })
  return outcome.kind === 'done' ? outcome.result : null
}

/** Hashes the download; of an oversized one only the beginning. */
export const download = (
  { video, attempt }: Bench,
  ref: Opaque,
  result: Opaque,
): Promise<string | ProviderFailure> =>
  attempt(async (signal) => {
    const hash = createHash('sha256')
    let leftBytes = 4 * 1024 * 1024
    for await (const chunk of (await video.openResult(ref, result, signal)) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      leftBytes -= chunk.length
      if (leftBytes < 0) break
    }
    return hash.digest('hex')
  })

export async function expectVideo(bench: Bench, ref: Opaque): Promise<void> {
  expect(await download(bench, ref, await resultOf(bench, ref))).toBe(sha256(sample))
}

export const expectLeftAlone = ({ vendor }: Bench): Promise<void> =>
  vi.waitFor(() => expect(vendor.counts().underWay).toBe(0), { interval: 5, timeout: patientMs })

/** A server that records its requests and returns a video. */
export async function listenElsewhere() {
  const seen: string[] = []
  const server = await listenForTest((request, response, body) => {
    seen.push([request.url, ...request.rawHeaders, body.toString('latin1')].join('\n'))
    response.writeHead(200, { 'content-type': 'video/mp4' }).end(sample)
  })
  return { ...server, seen }
}

/** Replaces the vendor's URL in a reference or result. */
export const pointedAt = (value: Opaque, from: string, to: string): Opaque =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to)) as Opaque
