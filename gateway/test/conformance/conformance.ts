/**
 * The guarantees of every video adapter, whatever its protocol, as a table. Each is tested against
 * the simulated vendor over real connections.
 */
import { Readable } from 'node:stream'

import { expect, vi } from 'vitest'

import { type FaultName, faultNames, faultOf } from '../../../dev/vendor/faults.ts'
import { type Exchange, withExchanges } from '../../src/providers/port/exchange.ts'
import { type FailureKind, ProviderFailure } from '../../src/providers/port/failure.ts'
import type { Opaque, VideoJob } from '../../src/providers/port/video.ts'
import {
  apiKey,
  type Bench,
  download,
  expectLeftAlone,
  expectProgress,
  expectVideo,
  kept,
  listenElsewhere,
  openBench,
  outcomeOf,
  patientMs,
  pointedAt,
  resultOf,
  sample,
  sha256,
  shortMs,
  type Speaker,
  submitted,
} from './conformance-bench.ts'

/** URLs without a vendor. */
export interface DeadEnds {
  closedPort: string
  plainPort: string
  blackHole: string
}

interface Guarantee {
  name: string
  holds: (speaker: Speaker, deadEnds: DeadEnds) => Promise<void>
}

/** The outcome of a submit with a fault; undefined if both are possible. */
const submitFailure: Record<FaultName, FailureKind | undefined> = {
  '500': 'unknown',
  '502-html': 'unknown',
  '429': 'busy',
  '429-retry-after': 'busy',
  silence: 'unknown',
  drip: 'unknown',
  'truncated-json': 'unknown',
  garbage: 'unknown',
  huge: 'unknown',
  'gzip-bomb': 'unknown',
  'wrong-type': undefined,
  'redirect-inside': 'unknown',
  drop: 'unknown',
  'duplicate-id': undefined,
  backwards: undefined,
  'done-then-404': undefined,
  empty: undefined,
  damaged: undefined,
  oversized: undefined,
}

/** How much the process may grow while it receives a gigabyte. */
const mostMemoryKilobytes = 200 * 1024

const stalls = new Set<FaultName>(['silence', 'drip'])

/** The same bench with calls that are aborted as soon as the vendor stalls. */
const impatient = (bench: Bench, fault: FaultName): Bench => ({
  ...bench,
  attempt: async (call) => {
    if (!stalls.has(fault)) return bench.attempt(call)
    const patience = new AbortController()
    const met = bench.vendor.counts().faults
    const clock = setInterval(() => bench.vendor.counts().faults > met && patience.abort(), 15)
    try {
      return await bench.attempt(call, patience.signal)
    } finally {
      clearInterval(clock)
    }
  },
})

/** Every fault at every possible point: the call fails cleanly, and the next call works. */
const faultGuarantee = (fault: FaultName): Guarantee => ({
  name: `${fault} is survived wherever it happens`,
  holds: async (speaker) => {
    const before = process.resourceUsage().maxRSS
    await using plain = await openBench(speaker)
    const bench = impatient(plain, fault)

    const wanted = bench.job(`vendor:fault=${fault}@submit`)
    const submit = (signal: AbortSignal) => bench.video.submit(wanted, signal)
    const first = await bench.attempt(submit)
    const kind = submitFailure[fault]
    if (kind !== undefined) expect(first).toMatchObject({ kind })
    if (fault === '429-retry-after') expect(first).toMatchObject({ retryAfterMs: 7000 })
    await expectVideo(bench, kept(first instanceof ProviderFailure ? await bench.succeed(submit) : first))

    await expectVideo(
      bench,
      await submitted(bench, `vendor:fault=${fault}@poll vendor:fault=${fault}@result`),
    )
    expect(bench.vendor.counts().faults).toBeGreaterThan(1)

    const ref = await submitted(bench, `vendor:fault=${fault}@download`)
    const result = await resultOf(bench, ref)
    const met = bench.vendor.counts().faults
    const bytes = await download(bench, ref, result)
    const isMet = bench.vendor.counts().faults > met
    if (isMet && (stalls.has(fault) || fault === 'redirect-inside')) {
      expect(bytes).toBeInstanceOf(ProviderFailure)
    }
    expect(await download(bench, ref, result)).toBe(sha256(sample))

    await expectLeftAlone(bench)
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(mostMemoryKilobytes)
  },
})

const submittedAgain = async ({ video, succeed }: Bench, wanted: VideoJob): Promise<Opaque> =>
  kept(await succeed((signal) => video.submit(wanted, signal)))

export const guarantees: Guarantee[] = [
  {
    name: 'a video goes all the way, and its progress is a whole number below 100 until it is done',
    holds: async (speaker) => {
      await using bench = await openBench(speaker, { durationMs: 120 })
      const endless = await submitted(bench, 'vendor:never')
      expect(bench.vendor.jobs()).toMatchObject([{ kind: speaker.kind, model: speaker.model }])
      const status = await bench.succeed((signal) => bench.video.poll(endless, signal))
      expect(status).toMatchObject({ kind: 'running' })
      await expectVideo(bench, await submitted(bench))
    },
  },
  {
    name: 'a result is read at the reader’s pace and let go when nobody wants it',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const ref = await submitted(bench, 'vendor:fault=huge@downloadxall')
      const result = await resultOf(bench, ref)
      const open = (signal: AbortSignal) => bench.video.openResult(ref, result, signal)
      const stream = await bench.succeed(open)
      expect(stream).toBeInstanceOf(Readable)
      // Only the buffers of the connection are filled if the reader does not read.
      let poured = -1
      const isStill = () => poured === (poured = bench.vendor.counts().pouredBytes)
      await vi.waitUntil(isStill, { interval: 50, timeout: patientMs })
      expect(poured).toBeGreaterThan(0)
      expect(poured).toBeLessThan(30 * 1024 * 1024)
      stream.destroy()
      await expectLeftAlone(bench)

      const caller = new AbortController()
      const aborted = await open(caller.signal)
      const broken = new Promise((resolve) => aborted.once('error', resolve))
      caller.abort()
      expect(await broken).toBeInstanceOf(ProviderFailure)
      await expectLeftAlone(bench)
    },
  },
  {
    name: 'a job that ends without a video is refused with the reason that callers are shown',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const codes = {
        content_policy_violation: 'content_policy_violation',
        invalid_image: 'invalid_image',
        invalid_parameter: 'invalid_parameter',
        server_error: 'upstream_error',
      }
      for (const [fail, code] of Object.entries(codes)) {
        const ref = await submitted(bench, `vendor:tells-too-much vendor:fail=${fail}`)
        const message = expect.stringMatching(/\w/)
        expect(await outcomeOf(bench, ref)).toMatchObject({ kind: 'refused', code, message })
      }
    },
  },
  {
    name: 'a job that the vendor does not know is missing',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const ref = await submitted(bench)
      bench.vendor.faults.forgetful = true
      expect(await bench.succeed((signal) => bench.video.poll(ref, signal))).toEqual({ kind: 'missing' })
    },
  },
  {
    name: 'a word for a status that nobody knows means that the job goes on',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const ref = await submitted(bench, 'vendor:odd-status')
      expect(await bench.succeed((signal) => bench.video.poll(ref, signal))).toMatchObject({
        kind: 'running',
      })
    },
  },
  {
    name: 'a job that is done with nothing to show for it is refused',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const ref = await submitted(bench, 'vendor:no-output')
      expect(await outcomeOf(bench, ref)).toMatchObject({ kind: 'refused', code: 'upstream_error' })
    },
  },
  {
    name: 'a submit that cannot have arrived is not delivered',
    holds: async (speaker, { closedPort, plainPort, blackHole }) => {
      await using bench = await openBench(speaker)
      const toNowhere = async (at: string, ms = patientMs) => {
        const video = bench.connect({ baseUrl: `${at}${speaker.basePath ?? ''}` })
        return bench.attempt((signal) => video.submit(bench.job(), signal), AbortSignal.timeout(ms))
      }
      const outcomes = await Promise.all([
        toNowhere(closedPort),
        toNowhere(plainPort),
        toNowhere(blackHole, shortMs),
      ])
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'not_delivered' })
      const ref = await submitted(bench)
      const unreachable = bench.connect({ baseUrl: `${blackHole}${speaker.basePath ?? ''}` })
      const poll = bench.attempt((signal) => unreachable.poll(ref, signal), AbortSignal.timeout(shortMs))
      expect(await poll).toBeInstanceOf(ProviderFailure)
    },
  },
  {
    name: 'a submit that is refused is rejected or moderated, and has made no job',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const refused = async (words: string) =>
        bench.attempt((signal) => bench.video.submit(bench.job(words), signal))
      expect(await refused('vendor:tells-too-much vendor:reject=invalid_parameter')).toMatchObject({
        kind: 'rejected',
      })
      expect(await refused('vendor:tells-too-much vendor:reject=content_policy_violation')).toMatchObject({
        kind: 'moderated',
        code: 'content_policy_violation',
      })
      const stranger = bench.connect({ apiKey: 'another-key' })
      expect(await bench.attempt((signal) => stranger.submit(bench.job(), signal))).toMatchObject({
        kind: 'unauthorized',
        code: 'upstream_error',
      })
      expect(bench.vendor.jobs()).toEqual([])
    },
  },
  {
    name: 'the same task submitted twice is one job',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      expect(bench.video.submitsAreIdempotent).toBe(true)
      const wanted = bench.job()
      const ref = await submittedAgain(bench, wanted)
      expect(await submittedAgain(bench, wanted)).toEqual(ref)
      expect(bench.vendor.jobs()).toHaveLength(1)
    },
  },
  {
    name: 'a job whose submit was cut off is found again by our task id, and none where there is none',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const { lookup } = bench.video
      if (lookup === undefined) throw new Error('it has no lookup')
      const wanted = bench.job('vendor:fault=drop@submit')
      expect(await bench.attempt((signal) => bench.video.submit(wanted, signal))).toMatchObject({
        kind: 'unknown',
      })
      const ref = await bench.succeed((signal) => lookup(wanted.taskId, signal))
      if (ref === undefined) throw new Error('it was not found')
      await expectVideo(bench, kept(ref))
      expect(await bench.succeed((signal) => lookup('task-nobody-sent', signal))).toBeUndefined()
    },
  },
  {
    name: 'a job can be cancelled, also when it is over or was cancelled before',
    holds: async (speaker) => {
      await using bench = await openBench(speaker, { durationMs: 60_000 })
      const { cancel } = bench.video
      if (cancel === undefined) throw new Error('it cannot cancel')
      const ref = await submitted(bench)
      for (const _ of [1, 2]) await bench.succeed((signal) => cancel(ref, signal))
      expect(bench.vendor.jobs()).toMatchObject([{ state: 'cancelled' }])
      expect(await outcomeOf(bench, ref)).toMatchObject({ kind: 'refused' })
      const over = await submitted(bench, 'vendor:duration=0')
      await bench.succeed((signal) => cancel(over, signal))
      await expectVideo(bench, over)
    },
  },
  {
    name: 'a job can be discarded, also when it is gone',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const { discard } = bench.video
      if (discard === undefined) throw new Error('it cannot discard')
      const ref = await submitted(bench)
      await outcomeOf(bench, ref)
      for (const _ of [1, 2]) await bench.succeed((signal) => discard(ref, signal))
      expect(bench.vendor.jobs()).toMatchObject([{ state: 'deleted' }])
    },
  },
  {
    name: 'a reference or result of another provider is refused, and nobody else is asked',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      await using elsewhere = await listenElsewhere()
      const { video, attempt, vendor } = bench
      const ref = await submitted(bench)
      const result = await resultOf(bench, ref)
      const foreign: Opaque[] = [
        ...[null, true, 17, '', 'a', [], {}, [{ id: 'a' }]],
        ...[{ id: '..' }, { id: { id: 'a' } }, { name: '../../a' }, { url: 'file:///etc/passwd' }],
        { id: 'a', app: '../..', name: 'models/../../a', url: elsewhere.url, statusUrl: elsewhere.url },
      ]
      for (const other of [...foreign, pointedAt(ref, vendor.url, elsewhere.url)]) {
        const status = await attempt((signal) => video.poll(other, signal))
        if (!(status instanceof ProviderFailure)) expect(['missing', 'done']).toContain(status.kind)
        for (const act of [video.cancel, video.discard]) {
          if (act !== undefined && JSON.stringify(other) !== JSON.stringify(ref)) {
            await attempt((signal) => act(other, signal))
          }
        }
        await download(bench, other, result)
      }
      for (const other of [...foreign, pointedAt(result, vendor.url, elsewhere.url)]) {
        await download(bench, ref, other)
      }
      expect(elsewhere.seen).toEqual([])
    },
  },
  {
    name: 'a redirect leads nowhere inside, and the credential goes to the vendor alone',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      await using elsewhere = await listenElsewhere()
      bench.vendor.faults.redirectTo = `${elsewhere.url}/moved`
      const wanted = bench.job('vendor:fault=redirect-inside@submit')
      await bench.attempt((signal) => bench.video.submit(wanted, signal))
      await expectVideo(bench, await submitted(bench, 'vendor:fault=redirect-inside@poll'))
      const ref = await submitted(bench, 'vendor:fault=redirect-inside@downloadxall')
      const result = await resultOf(bench, ref)
      expect(await download(bench, ref, result)).toBeInstanceOf(ProviderFailure)
      expect(elsewhere.seen).toEqual([])

      const trusting = { ...bench, video: bench.connect({ resultOrigins: [elsewhere.url] }) }
      expect(await download(trusting, ref, result)).toBe(sha256(sample))
      expect(elsewhere.seen).toHaveLength(1)
      expect(elsewhere.seen.join()).not.toContain(apiKey)
    },
  },
  {
    name: 'every exchange is noted for the operator, without a secret and without the caller’s words',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const exchanges: Exchange[] = []
      await withExchanges(
        (exchange) => exchanges.push(exchange),
        async () => {
          await expectVideo(bench, await submitted(bench, 'vendor:tells-too-much'))
          await outcomeOf(bench, await submitted(bench, 'vendor:tells-too-much vendor:fail=server_error'))
          const failing = bench.job('vendor:tells-too-much vendor:fault=500@submit')
          await bench.attempt((signal) => bench.video.submit(failing, signal))
        },
      )
      expect(exchanges.map(({ what }) => what)).toEqual(
        expect.arrayContaining(['submit', 'poll', 'download']),
      )
      expect(exchanges.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 500]))
      bench.expectClean(JSON.stringify(exchanges))
      expect(JSON.stringify(exchanges)).not.toContain('cat number')
    },
  },
  {
    name: 'two jobs under one id, and a job that goes backwards, confuse nobody',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      await expectVideo(bench, await submitted(bench))
      await expectVideo(bench, await submitted(bench, 'vendor:fault=duplicate-id'))
      const ref = await submitted(bench, 'vendor:fault=backwards')
      for (const _ of [1, 2, 3]) {
        const status = await bench.succeed((signal) => bench.video.poll(ref, signal))
        if (status.kind === 'running') expectProgress(status)
        else expect(status).toMatchObject({ kind: 'done' })
      }
      await expectVideo(bench, ref)
    },
  },
  {
    name: 'a job that is lost once it is done is missing, and its result cannot be had',
    holds: async (speaker) => {
      await using bench = await openBench(speaker)
      const ref = await submitted(bench, 'vendor:fault=done-then-404')
      const first = await outcomeOf(bench, ref)
      expect(['done', 'missing']).toContain(first.kind)
      expect(await outcomeOf(bench, ref)).toEqual({ kind: 'missing' })
      if (first.kind === 'done')
        expect(await download(bench, ref, first.result)).toBeInstanceOf(ProviderFailure)
    },
  },
  ...faultNames.filter((fault) => faultOf(fault).only === undefined).map(faultGuarantee),
]
