import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { ErrorCode } from '@kinora/contract/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { createCompareDurations } from '../../src/routing/compare-durations.ts'
import { readDurationMismatches } from '../../src/routing/duration-mismatch-store.ts'
import { removeExpired } from '../../src/transcription-tasks/lifecycle/remove-expired.ts'
import {
  carriedTranscriptions,
  runTranscription,
} from '../../src/transcription-tasks/lifecycle/transcribe-recording.ts'
import { planSegments } from '../../src/transcription-tasks/segments/plan-segments.ts'
import { transcribeSegments } from '../../src/transcription-tasks/segments/transcribe-segments.ts'
import { createTranscriptionId } from '../../src/transcription-tasks/transcription-id.ts'
import { ask, askJson, askRaw, expectProblem, type Answer } from '../kit/answers.ts'
import { recordingAt } from '../kit/expired.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { lyingRecordings, lyingSeconds } from '../kit/lying-recordings.ts'
import { claimRecordings, createTranscriber, spoken, type Pause, type Transcriber } from '../kit/recording.ts'
import { audioForm, encoded, wave } from '../kit/sound.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { listFiles } from '../kit/stored-media.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let transcriber: Transcriber
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway()
  transcriber = await createTranscriber(gateway)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const path = '/v1/audio/transcription-tasks'
const short = wave(2)
const plain = { model: 'asr-1' }

const create = (
  fields: Record<string, string> = plain,
  {
    bytes = short,
    text = key.text,
    url = gateway.url,
  }: { bytes?: Buffer | null; text?: string; url?: string } = {},
) => ask(`${url}${path}`, text, { method: 'POST', body: audioForm(bytes ?? undefined, fields) })
const accept = async (fields: Record<string, string> = plain, bytes: Buffer = short): Promise<string> => {
  const answer = await create(fields, { bytes })
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
const read = (id: string, text = key.text) => ask(`${gateway.url}${path}/${id}`, text)
const remove = (id: string, text = key.text) => ask(`${gateway.url}${path}/${id}`, text, { method: 'DELETE' })
const transcript = (id: string, format = 'json', text = key.text) =>
  ask(`${gateway.url}${path}/${id}/transcript?response_format=${format}`, text)
const transcriptText = async (id: string, format: string) => {
  const response = await fetch(`${gateway.url}${path}/${id}/transcript?response_format=${format}`, {
    headers: { authorization: `Bearer ${key.text}` },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  return response.text()
}

/** Ends the waiting time of all postponed tasks and segments. */
const skipWaits = async () => {
  const { postgres } = gateway.database
  await postgres.query('update open_transcriptions set not_before = now()')
  await postgres.query('update transcription_segments set not_before = now() where not_before > now()')
}
/** Works until the task has this status. The number of ticks depends on provider backoff and the retry budget. */
const until = async (id: string, status: 'completed' | 'failed') => {
  let body: Record<string, unknown> = {}
  const tick = async () => {
    await skipWaits()
    await transcriber.work()
    ;({ body } = await read(id))
    return body['status']
  }
  await expect.poll(tick, { interval: 10 }).toBe(status)
  return body
}

const segmentsOf = async (id: string) => {
  const { rows } = await gateway.database.postgres.query<{
    startMs: number
    endMs: number
    failures: number
  }>(
    `select start_ms as "startMs", end_ms as "endMs", failures from transcription_segments where task_id = $1 order by n`,
    [id],
  )
  return rows
}
/** The ids of the tasks that have a recording, and the files without a task. */
const recordings = async () => {
  const { rows } = await gateway.database.postgres.query<{ id: string; key: string }>(
    'select id, recording_key as key from transcription_tasks where recording_key is not null',
  )
  const taskOf = new Map(rows.map(({ id, key }) => [key, id]))
  return (await listFiles(gateway)).map((file) => taskOf.get(file) ?? file)
}
const movementsOf = async (id: string) => {
  const { rows } = await gateway.database.postgres.query<{ movement: string; micros: number }>(
    `select movement, sum(abs(amount_micros)) / 2 as micros from ledger_entries where task_id = $1
      group by movement order by movement desc`,
    [id],
  )
  return Object.fromEntries(rows.map(({ movement, micros }) => [movement, micros]))
}
const expectBalanced = async () => expect(await brokenInvariants(gateway.database.postgres)).toEqual([])

describe('a recording of twelve minutes', () => {
  const pauses: Pause[] = [
    { atSeconds: 100, seconds: 4 },
    { atSeconds: 200, seconds: 1 },
    { atSeconds: 270, seconds: 2 },
    { atSeconds: 500, seconds: 1.5 },
    { atSeconds: 560, seconds: 0.4 },
  ]
  const cuesIn = (text: string, mark: string) =>
    [...text.matchAll(/^(\d\d):(\d\d):(\d\d)([,.])(\d{3}) --> (\d\d):(\d\d):(\d\d)[,.](\d{3})$/gm)].map(
      (cue) => {
        const [h1, m1, s1, between, ms1, h2, m2, s2, ms2] = cue.slice(1)
        expect(between).toBe(mark)
        const ms = (h?: string, m?: string, s?: string, rest?: string) =>
          ((Number(h) * 60 + Number(m)) * 60 + Number(s)) * 1000 + Number(rest)
        return { startMs: ms(h1, m1, s1, ms1), endMs: ms(h2, m2, s2, ms2) }
      },
    )

  test('is cut at its pauses, transcribed in segments and merged completely', async () => {
    const before = gateway.vendor.transcriptions().length
    const created = await create(
      { ...plain, language: 'en-GB', prompt: 'Kinora', temperature: '0.2' },
      { bytes: spoken(720, pauses) },
    )
    const id = String(created.body['id'])
    expect(created.body).toEqual({
      id: expect.stringMatching(
        /^transcription_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      object: 'transcription.task',
      model: 'asr-1',
      task: 'transcribe',
      status: 'pending',
      progress: 0,
      created_at: expect.closeTo(Date.now() / 1000, -1),
      completed_at: null,
      expires_at: null,
      duration: 720,
      error: null,
    })
    expect(await recordings()).toEqual([id])
    expect(await movementsOf(id)).toEqual({ hold: 72_000 })

    expect(await transcriber.work()).toBe(1)
    const segmentRows = await segmentsOf(id)
    expect(segmentRows).toEqual([
      { startMs: 0, endMs: 271_000, failures: 0 },
      { startMs: 271_000, endMs: 500_750, failures: 0 },
      { startMs: 500_750, endMs: 720_000, failures: 0 },
    ])
    const requests = gateway.vendor.transcriptions().slice(before)
    expect(requests.map(({ contentType }) => contentType)).toEqual(['audio/flac', 'audio/flac', 'audio/flac'])
    expect(requests[0]?.fields).toMatchObject({
      model: ['asr-1'],
      language: ['en'],
      prompt: ['Kinora'],
      temperature: ['0.2'],
      response_format: ['verbose_json'],
    })

    expect((await read(id)).body).toMatchObject({
      status: 'completed',
      progress: 100,
      completed_at: expect.closeTo(Date.now() / 1000, -1),
      expires_at: expect.closeTo(Date.now() / 1000 + 7 * 86_400, -1),
    })
    expect(await movementsOf(id)).toEqual({ hold: 72_000, capture: 72_000 })
    expect(await recordings()).toEqual([])

    const verbose = (await transcript(id, 'verbose_json')).body
    const speech = verbose['segments'] as { id: number; start: number; end: number; text: string }[]
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'english', duration: 720 })
    expect(Object.keys(verbose).toSorted()).toEqual(['duration', 'language', 'segments', 'task', 'text'])
    expect(speech.map((segment) => segment.id)).toEqual(speech.map((_, index) => index))
    expect(speech.map(({ start }) => start)).toEqual([0, 1.5, 3, 271, 272.5, 274, 500.75, 502.25, 503.75])
    // The text of each recording segment occurs once. The vendor may have received the segments in another order.
    const texts = String(verbose['text']).match(/vendor transcript of \d+ bytes/g) ?? []
    expect(texts.join(' ')).toBe(verbose['text'])
    expect(texts.toSorted()).toEqual(
      requests.map(({ sizeBytes }) => `vendor transcript of ${sizeBytes} bytes`).toSorted(),
    )
    expect((await transcript(id)).body).toEqual({ text: verbose['text'] })
    expect(await transcriptText(id, 'text')).toBe(`${String(verbose['text'])}\n`)
    for (const [format, mark] of [
      ['srt', ','],
      ['vtt', '.'],
    ] as const) {
      const cues = cuesIn(await transcriptText(id, format), mark)
      expect(cues.length).toBe(speech.length)
      cues.forEach(({ startMs, endMs }, index) => {
        expect(startMs).toBeGreaterThanOrEqual(cues[index - 1]?.endMs ?? 0)
        expect(endMs).toBeGreaterThan(startMs)
        expect(endMs).toBeLessThanOrEqual(720_000)
      })
    }
    await expectBalanced()
  })

  test('that is silent completes with an empty text and without a provider', async () => {
    const before = gateway.vendor.transcriptions().length
    const id = await accept(plain, spoken(720, [{ atSeconds: 0, seconds: 720 }]))
    await until(id, 'completed')
    expect((await transcript(id)).body).toEqual({ text: '' })
    expect((await transcript(id, 'verbose_json')).body).toMatchObject({ text: '', segments: [] })
    expect(await transcriptText(id, 'srt')).toBe('')
    expect(await transcriptText(id, 'vtt')).toBe('WEBVTT\n\n')
    expect(gateway.vendor.transcriptions().length).toBe(before)
    expect(await movementsOf(id)).toEqual({ hold: 72_000, capture: 72_000 })
  })

  test('reports the transcribed share as progress', async () => {
    const id = await accept(
      { ...plain, prompt: 'vendor:500-once' },
      spoken(720, [...pauses, { atSeconds: 280, seconds: 440 }]),
    )
    await transcriber.work()
    // Two segments are silent, and the first one is retried later.
    expect((await read(id)).body).toMatchObject({ status: 'processing', progress: expect.any(Number) })
    expect((await read(id)).body['progress']).toBeGreaterThan(30)
    expect((await read(id)).body['progress']).toBeLessThan(70)
    await until(id, 'completed')
  })
})

describe('providers', () => {
  test('translation on request', async () => {
    const id = await accept({ ...plain, task: 'translate' })
    expect((await until(id, 'completed'))['task']).toBe('translate')
    const { body } = await transcript(id, 'verbose_json')
    expect(body).toMatchObject({ task: 'translate', language: 'english' })
    expect(body['text']).toContain('vendor translation of')
  })

  test.each([
    ['500-once', wave(2.5)],
    ['busy-once', wave(2.6)],
  ])('a segment is retried after %s', async (word, bytes) => {
    const id = await accept({ ...plain, prompt: `vendor:${word}` }, bytes)
    await until(id, 'completed')
    expect((await segmentsOf(id)).map(({ failures }) => failures)).toEqual([word === '500-once' ? 1 : 0])
    expect((await transcript(id)).body['text']).toContain('vendor transcript of')
    await expectBalanced()
  })

  test('the task waits for an unreachable provider', async () => {
    const id = await accept()
    gateway.vendor.faults.down = true
    try {
      await transcriber.work()
      expect((await read(id)).body).toMatchObject({ status: 'processing', error: null })
    } finally {
      gateway.vendor.faults.down = false
    }
    await until(id, 'completed')
  })

  test('a permanent failure fails the task without a charge, leftovers or vendor details', async () => {
    const expected: [word: string, code: string, requests: number][] = [
      ['500', 'upstream_error', 3],
      ['cut', 'upstream_error', 3],
      ['moderated', 'content_policy_violation', 1],
      ['reject=unknown_model', 'upstream_error', 1],
      ['leak', 'invalid_parameter', 1],
    ]
    const before = gateway.vendor.transcriptions().length
    const tasks = await Promise.all(
      expected.map(async ([word, code, requests]) => {
        const prompt = `vendor:${word}`
        return { prompt, code, requests, id: await accept({ ...plain, prompt }) }
      }),
    )
    for (const { id, prompt, code, requests } of tasks) {
      const body = await until(id, 'failed')
      expect(body).toMatchObject({ completed_at: null, expires_at: null, error: { code } })
      // Messages of the vendor must not be visible.
      expect(JSON.stringify(body)).not.toMatch(/simulated|127\.0\.0\.1|vendor-key/)
      const received = gateway.vendor.transcriptions().slice(before)
      expect(received.filter(({ fields }) => fields['prompt']?.[0] === prompt).length).toBe(requests)
      expect(await movementsOf(id)).toEqual({ hold: 200, release: 200 })
      expect(await segmentsOf(id)).toEqual([])
      expectProblem(await transcript(id), 'task_failed')
    }
    expect(await recordings()).toEqual([])
    await expectBalanced()
  })

  test('a task fails after its deadline, even if it was never started', async () => {
    const waiting = await accept({ ...plain, prompt: 'vendor:busy' })
    await transcriber.work()
    const untouched = await accept()
    await gateway.database.postgres.query(
      `update open_transcriptions set deadline_at = now() - interval '1 minute'`,
    )
    for (const id of [waiting, untouched]) {
      expect((await until(id, 'failed'))['error']).toMatchObject({ code: 'task_timeout' })
      expect(await movementsOf(id)).toEqual({ hold: 200, release: 200 })
    }
  })

  test('a model without timestamps returns only text', async () => {
    const id = await accept({ model: 'chat-4o-transcribe' })
    await until(id, 'completed')
    expect(gateway.vendor.transcriptions().at(-1)?.fields['response_format']).toEqual(['json'])
    expect((await transcript(id)).body['text']).toContain('vendor transcript of')
    expect(await transcriptText(id, 'text')).toContain('vendor transcript of')
    for (const format of ['srt', 'vtt', 'verbose_json']) {
      expectProblem(await transcript(id, format), 'invalid_parameter', 'response_format')
    }
  })
})

describe('a run', () => {
  test('that is superseded changes nothing, and a lost task is started again', async () => {
    const { postgres } = gateway.database
    const id = await accept({ ...plain, prompt: 'vendor:busy-once' }, wave(2.7))
    await transcriber.work()
    const { rows } = await postgres.query<{ run: number }>(
      `update open_transcriptions set stage = 'working' where task_id = $1 returning run`,
      [id],
    )
    const first = Number(rows[0]?.run)
    await skipWaits()
    const carried = carriedTranscriptions(postgres)
    const [renewed] = await carried.renew([{ taskId: id, run: first }])
    expect(renewed?.run).toBeGreaterThan(first)
    expect(await carried.renew([{ taskId: id, run: first }])).toEqual([])
    for (const step of [planSegments, transcribeSegments])
      expect(await step(transcriber.dependencies, { taskId: id, run: first })).toEqual({ kind: 'stop' })
    expect(await transcriber.restart()).toBe(1)
    await until(id, 'completed')
    expect(await movementsOf(id)).toEqual({ hold: 270, capture: 270 })
  })

  test('on a stopping worker finishes its segments and starts no others', async () => {
    const { postgres } = gateway.database
    const id = await accept(plain, wave(2.7))
    const [claimed] = await claimRecordings(postgres)
    const run = { taskId: id, run: Number(claimed?.run) }
    await planSegments(transcriber.dependencies, run)
    const stopping = new AbortController()
    const stop = { ...transcriber.dependencies, stopping: stopping.signal }
    const cutSegment: typeof stop.cutSegment = (...given) => {
      stopping.abort()
      return transcriber.dependencies.cutSegment(...given)
    }
    const requests = gateway.vendor.transcriptions().length
    expect(await transcribeSegments({ ...stop, stopping: AbortSignal.abort() }, run)).toEqual({
      kind: 'repeat',
    })
    expect(gateway.vendor.transcriptions()).toHaveLength(requests)
    expect(await transcribeSegments({ ...stop, cutSegment }, run)).toEqual({ kind: 'repeat' })
    expect(gateway.vendor.transcriptions()).toHaveLength(requests + 1)
    expect(await transcriber.restart()).toBe(1)
    expect((await read(id)).body).toMatchObject({ status: 'completed' })
    expect(gateway.vendor.transcriptions()).toHaveLength(requests + 1)
  })

  test('on a stopping worker ends its run, which another worker repeats', async () => {
    const id = await accept(plain, wave(2.7))
    const [claimed] = await claimRecordings(gateway.database.postgres)
    const run = { taskId: id, run: Number(claimed?.run) }
    const stopping = AbortSignal.abort(new Error('the worker is stopping'))
    await expect(runTranscription({ ...transcriber.dependencies, stopping }, run)).rejects.toThrow(
      'the worker is stopping',
    )
    await runTranscription(transcriber.dependencies, run)
    expect((await read(id)).body).toMatchObject({ status: 'completed' })
  })

  test('that takes long returns to the queue between its steps, and is planned and transcribed once', async () => {
    const id = await accept(plain, spoken(700))
    const requests = gateway.vendor.transcriptions().length
    let reads = 0
    const dependencies: Transcriber['dependencies'] = {
      ...transcriber.dependencies,
      runMsMax: 0,
      readLevels: (...given) => {
        reads += 1
        return transcriber.dependencies.readLevels(...given)
      },
    }
    let runs = 0
    const runOnce = async () => {
      for (const run of await claimRecordings(gateway.database.postgres)) {
        runs += 1
        await runTranscription(dependencies, run)
      }
      return (await read(id)).body['status']
    }
    expect(await runOnce()).toBe('processing')
    await expect.poll(runOnce, { interval: 10 }).toBe('completed')
    expect({ runs, reads }).toEqual({ runs: 2, reads: 1 })
    expect(gateway.vendor.transcriptions()).toHaveLength(requests + (await segmentsOf(id)).length)
  })

  test('logs and counts another duration in the report of the provider', async () => {
    const { postgres } = gateway.database
    const file = join(gateway.directory, 'mismatches.log')
    const log = createLog({ level: 'warn', file }, 'test')
    const compareDurations = createCompareDurations({ database: postgres, log })
    const counted = async () => (await readDurationMismatches(postgres)).get('vendor') ?? 0
    const before = await counted()
    // The vendor reports the same few seconds for any recording.
    for (const seconds of [5, 60]) {
      const id = await accept(plain, wave(seconds))
      for (const run of await claimRecordings(postgres))
        await runTranscription({ ...transcriber.dependencies, compareDurations }, run)
      expect((await read(id)).body).toMatchObject({ status: 'completed' })
      if (seconds === 5) continue
      expect(
        (await readFile(file, 'utf8'))
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as object),
      ).toEqual([
        expect.objectContaining({
          ...{ level: 40, msg: 'recording.duration-mismatch', provider: 'vendor', model: 'asr-1', id },
          ...{ measuredSeconds: 60, reportedSeconds: 4.5 },
        }),
      ])
    }
    await expect.poll(counted).toBe(before + 1)
  })

  test('of an account with many tasks does not block other accounts', async () => {
    const { postgres } = gateway.database
    const other = await createKey(postgres, await createAccount(postgres))
    const many = [await accept(), await accept(), await accept()]
    const one = String((await create(plain, { text: other.text })).body['id'])
    const claimed = await claimRecordings(postgres, 2)
    expect(claimed.map(({ taskId }) => taskId).toSorted()).toEqual([many[0] ?? '', one].toSorted())
    await transcriber.restart()
    await transcriber.work()
    for (const id of many) await until(id, 'completed')
  })
})

describe('a recording that states less than it contains', () => {
  test.each(Object.entries(lyingRecordings))(
    'is charged for all of it, or refused: %s',
    async (name, make) => {
      const answer = await create(plain, { bytes: await make() })
      if (name.includes('stream')) return expectProblem(answer, 'invalid_file_format', 'file')
      expect(answer.status).toBe(200)
      const id = String(answer.body['id'])
      await until(id, 'completed')
      // 100 micros per second.
      expect((await movementsOf(id))['capture']).toBeGreaterThanOrEqual(lyingSeconds * 100)
    },
  )
})

describe('a recording with a gap in its timestamps', () => {
  const withGap = (seconds: number) =>
    encoded(wave(10), 'out.webm', ['-af', `asetpts='PTS+if(gte(T,5),${seconds},0)/TB'`, '-c:a', 'libopus'])

  test('is transcribed to its end and charged for its timeline, of which silence is not sent to the vendor', async () => {
    const before = gateway.vendor.transcriptions().length
    const id = await accept(plain, await withGap(40))
    await until(id, 'completed')
    const [segment, ...others] = await segmentsOf(id)
    expect(others).toEqual([])
    expect(segment).toMatchObject({ startMs: 0, endMs: expect.closeTo(50_000, -2) })
    expect((await movementsOf(id))['capture']).toBeCloseTo(5_000, -2)
    expect(gateway.vendor.transcriptions().length).toBe(before + 1)
  })

  test('fails if it is longer than what is charged', async () => {
    const before = gateway.vendor.transcriptions().length
    const id = await accept(plain, await withGap(40))
    // As if it had been measured wrongly.
    await gateway.database.postgres.query(
      'update transcription_tasks set duration_ms = 10000 where id = $1',
      [id],
    )
    expect((await until(id, 'failed'))['error']).toMatchObject({ code: 'invalid_parameter' })
    expect(gateway.vendor.transcriptions().length).toBe(before)
  })
})

describe('GET one', () => {
  test('404 for an id that is unknown, malformed or of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const id = await accept()
    for (const unknown of [createTranscriptionId(Date.now()), 'nonsense', 'video_123']) {
      expectProblem(await read(unknown), 'task_not_found')
      expectProblem(await transcript(unknown), 'task_not_found')
      expectProblem(await remove(unknown), 'task_not_found')
    }
    for (const send of [
      read(id, stranger.text),
      transcript(id, 'json', stranger.text),
      remove(id, stranger.text),
    ]) {
      expectProblem(await send, 'task_not_found')
    }
    expect((await read(id)).status).toBe(200)
    await until(id, 'completed')
  })
})

describe('GET transcript', () => {
  test('400 task_not_completed before the end, and invalid_parameter for an unknown format', async () => {
    const id = await accept()
    expectProblem(await transcript(id), 'task_not_completed')
    await until(id, 'completed')
    expectProblem(await transcript(id, 'docx'), 'invalid_parameter', 'response_format')
  })

  test('410 media_expired after its expiry; the transcript is removed and the task remains', async () => {
    const { postgres } = gateway.database
    const id = await accept()
    await until(id, 'completed')
    await postgres.query(
      `update transcription_tasks set expires_at = now() - interval '1 second' where id = $1`,
      [id],
    )
    expectProblem(await transcript(id), 'media_expired')
    await removeExpired(transcriber.dependencies)
    expect(await segmentsOf(id)).toEqual([])
    expectProblem(await transcript(id), 'media_expired')
    expect((await read(id)).body['status']).toBe('completed')
  })

  test('the openai dialect adds its own fields', async () => {
    const id = await accept()
    await until(id, 'completed')
    const { body } = await ask(
      `${gateway.url}${path}/${id}/transcript?response_format=verbose_json`,
      key.text,
      {
        headers: { 'x-api-dialect': 'openai' },
      },
    )
    expect(body).toMatchObject({ usage: { type: 'duration', seconds: 2 } })
    expect((body['segments'] as object[])[0]).toHaveProperty('seek')
  })
})

describe('DELETE', () => {
  const deleted = (id: string) => ({ id, object: 'transcription.task.deleted', deleted: true })

  test('a completed task is deleted with its transcript; its ledger movements remain', async () => {
    const id = await accept()
    await until(id, 'completed')
    expect((await remove(id)).body).toEqual(deleted(id))
    expectProblem(await read(id), 'task_not_found')
    expectProblem(await transcript(id), 'task_not_found')
    expectProblem(await remove(id), 'task_not_found')
    expect(await segmentsOf(id)).toEqual([])
    expect(await movementsOf(id)).toEqual({ hold: 200, capture: 200 })
    await expectBalanced()
  })

  test('the response that is stored for a repetition is deleted too', async () => {
    const send = () =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.text}`, 'idempotency-key': 'once' },
        body: audioForm(short, plain),
      })
    const { id } = (await (await send()).json()) as { id: string }
    expect(await (await send()).json()).toMatchObject({ id })
    await until(id, 'completed')
    await remove(id)
    expect((await send()).status).toBe(409)
  })

  test('a queued task and one in progress are stopped and not charged', async () => {
    const waiting = await accept()
    expect((await remove(waiting)).body).toEqual(deleted(waiting))
    expect(await transcriber.work()).toBe(0)

    const underWay = await accept({ ...plain, prompt: 'vendor:hang' })
    const before = gateway.vendor.transcriptions().length
    const working = transcriber.work()
    await expect.poll(() => gateway.vendor.transcriptions().length).toBe(before + 1)
    expect((await remove(underWay)).body).toEqual(deleted(underWay))
    await working
    await expect.poll(() => gateway.vendor.transcriptions().at(-1)?.state).toBe('abandoned')
    for (const id of [waiting, underWay]) {
      expectProblem(await read(id), 'task_not_found')
      expect(await movementsOf(id)).toEqual({ hold: 200, release: 200 })
    }
    expect(await recordings()).toEqual([])
    await expectBalanced()
  })

  test('a partly transcribed task is charged for the transcribed part', async () => {
    const { postgres } = gateway.database
    const recording = spoken(720, [
      { atSeconds: 270, seconds: 2 },
      { atSeconds: 500, seconds: 1.5 },
    ])
    const id = await accept({ ...plain, prompt: 'vendor:500-once' }, recording)
    // A slow machine could retry a segment in the step in which it failed.
    await postgres.query(
      `create function wait_long() returns trigger language plpgsql as
         $$ begin new.not_before = now() + interval '1 hour'; return new; end $$`,
    )
    await postgres.query(
      `create trigger wait_long before update on transcription_segments
         for each row when (new.failures > old.failures) execute function wait_long()`,
    )
    await transcriber.work()
    await postgres.query('drop function wait_long cascade')
    // Each segment has failed once. The first is retried now, the others much later.
    await postgres.query(
      'update transcription_segments set not_before = now() where task_id = $1 and n = 0',
      [id],
    )
    await postgres.query('update open_transcriptions set not_before = now() where task_id = $1', [id])
    await transcriber.work()
    const { rows } = await postgres.query<{ doneMs: number }>(
      `select sum(end_ms - start_ms)::bigint as "doneMs" from transcription_segments
        where task_id = $1 and transcript is not null`,
      [id],
    )
    const doneMs = rows[0]?.doneMs ?? 0
    expect(doneMs).toBeGreaterThan(0)
    expect(doneMs).toBeLessThan(720_000)
    expect((await remove(id)).body).toEqual(deleted(id))
    const capture = Math.ceil(doneMs / 10)
    expect(await movementsOf(id)).toEqual({ hold: 72_000, capture, release: 72_000 - capture })
    await expectBalanced()
  })

  test('a leftover recording is removed', async () => {
    const { postgres } = gateway.database
    const id = await accept()
    await postgres.query(
      `update transcription_tasks set state = 'failed', error_code = 'upstream_error',
              finished_at = now() - interval '2 minutes' where id = $1`,
      [id],
    )
    await postgres.query('delete from open_transcriptions where task_id = $1', [id])
    expect(await recordings()).toEqual([id])
    await removeExpired(transcriber.dependencies)
    expect(await recordings()).toEqual([])
    await postgres.query('delete from transcription_tasks where id = $1', [id])
  })
})

describe('GET list', () => {
  const list = (text: string, search = '') => ask(`${gateway.url}${path}${search}`, text)
  const idsOf = ({ body }: Answer) => (body['data'] as { id: string }[]).map(({ id }) => id)
  const account = async () => {
    const { postgres } = gateway.database
    const { text } = await createKey(postgres, await createAccount(postgres))
    return text
  }

  test('an account without tasks has an empty list', async () => {
    expect((await list(await account())).body).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    })
  })

  test('pages contain each task of the account once, in either order', async () => {
    const text = await account()
    const ids: string[] = []
    for (let count = 0; count < 3; count += 1) ids.push(String((await create(plain, { text })).body['id']))
    const foreign = await accept()
    for (const order of ['asc', 'desc']) {
      const seen: string[] = []
      for (let after = '', hasMore = true; hasMore;) {
        const page: Answer = await list(
          text,
          `?limit=2&order=${order}${after === '' ? '' : `&after=${after}`}`,
        )
        expect(page.body).toMatchObject({ first_id: idsOf(page)[0], last_id: idsOf(page).at(-1) })
        seen.push(...idsOf(page))
        after = String(page.body['last_id'])
        hasMore = page.body['has_more'] === true
      }
      const oldestFirst = order === 'asc' ? seen : seen.toReversed()
      expect(seen.toSorted()).toEqual(ids.toSorted())
      expect(oldestFirst.map((id) => id.slice(0, 27))).toEqual(ids.map((id) => id.slice(0, 27)).toSorted())
    }
    expect(idsOf(await list(text))).not.toContain(foreign)
    const [oldest = '', middle = '', newest = ''] = ids
    await remove(middle, text)
    expect(idsOf(await list(text, `?after=${middle}`))).toEqual([oldest])
    expect(idsOf(await list(text, `?order=asc&after=${middle}`))).toEqual([newest])
    for (const id of [oldest, newest, foreign]) await remove(id, id === foreign ? key.text : text)
  })

  test('tasks of the same microsecond are paged by id', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres)
    const { text, id: keyId } = await createKey(postgres, accountId)
    for (let count = 0; count < 4; count += 1) await recordingAt(postgres, { accountId, keyId }, new Date())
    await postgres.query('update transcription_tasks set created_at = now() where account_id = $1', [
      accountId,
    ])
    for (const order of ['asc', 'desc']) {
      const expected = idsOf(await list(text, `?order=${order}`))
      expect(new Set(expected).size).toBe(4)
      const seen: string[] = []
      for (let after = ''; seen.length < 4; after = `&after=${seen.at(-1)}`) {
        const page = idsOf(await list(text, `?limit=1&order=${order}${after}`))
        if (page.length === 0) break
        seen.push(...page)
      }
      expect(seen).toEqual(expected)
    }
    await postgres.query('delete from open_transcriptions where account_id = $1', [accountId])
    await postgres.query('delete from transcription_tasks where account_id = $1', [accountId])
  })

  test.each([
    ['limit', '?limit=0'],
    ['order', '?order=sideways'],
    ['after', '?after=nonsense'],
  ])('400 invalid_parameter: %s in %s', async (param, search) => {
    expectProblem(await list(key.text, search), 'invalid_parameter', param)
  })
})

describe('a refused request leaves nothing behind', () => {
  const expectRefused = async (send: () => Promise<Answer>, code: ErrorCode, param?: string) => {
    const before = await recordOf(gateway)
    const answer = await send()
    expectProblem(answer, code, param)
    expect(await recordOf(gateway)).toEqual(before)
    return answer
  }

  test.each<[ErrorCode, string | undefined, Record<string, string>]>([
    ['missing_parameter', 'model', {}],
    ['model_not_found', 'model', { model: 'asr-9' }],
    ['invalid_parameter', 'model', { model: 'vidB-2' }],
    ['invalid_parameter', 'language', { ...plain, language: 'klingon!' }],
    ['invalid_parameter', 'temperature', { ...plain, temperature: '1.5' }],
    ['invalid_parameter', 'task', { ...plain, task: 'summarise' }],
    ['invalid_parameter', 'task', { model: 'chat-4o-transcribe', task: 'translate' }],
  ])('%s %s: %j', async (code, param, fields) => {
    await expectRefused(() => create(fields), code, param)
  })

  test('missing_parameter: no file, and invalid_parameter: text in its place', async () => {
    await expectRefused(() => create(plain, { bytes: null }), 'missing_parameter', 'file')
    const text = () => create({ ...plain, file: 'hello' }, { bytes: null })
    await expectRefused(text, 'invalid_parameter', 'file')
  })

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('this is not audio '.repeat(100))],
    ['a playlist', Buffer.from('#EXTM3U\nhttp://127.0.0.1:9/a.mp3\n')],
    ['a header without audio', short.subarray(0, 44)],
  ])('invalid_file_format: %s', async (_, bytes) => {
    await expectRefused(() => create(plain, { bytes }), 'invalid_file_format', 'file')
  })

  test('invalid_request: JSON', async () => {
    await expectRefused(() => askJson(`${gateway.url}${path}`, key.text, plain), 'invalid_request')
  })

  test('request_too_large: a field; file_too_large: a form larger than any file may be', async () => {
    const field = { ...plain, prompt: 'x'.repeat(1_100_000) }
    await expectRefused(() => create(field), 'request_too_large')
    const answer = await askRaw(
      gateway.url,
      `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key.text}\r\n` +
        `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: ${2 ** 31}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toContain('"code":"file_too_large"')
  })

  test('model_access_denied', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: ['asr-large-v3'] })
    await expectRefused(() => create(plain, { text }), 'model_access_denied', 'model')
  })

  test('insufficient_balance, payment_failed, quota_exceeded, subscription_expired', async () => {
    const { postgres } = gateway.database
    const poor = await createAccount(postgres, { balance: 0 })
    const { text } = await createKey(postgres, poor)
    await expectRefused(() => create(plain, { text }), 'insufficient_balance')
    await postgres.query(`update accounts set payment_state = 'failed' where id = $1`, [poor])
    await expectRefused(() => create(plain, { text }), 'payment_failed')
    const capped = await createKey(postgres, accountId, { quotaMicros: 199 })
    await expectRefused(() => create(plain, { text: capped.text }), 'quota_exceeded')
    const lapsed = await createAccount(postgres)
    await subscribe(postgres, lapsed, { endsAt: new Date(Date.now() - 1_000) })
    const subscription = await createKey(postgres, lapsed, { kind: 'subscription' })
    await expectRefused(() => create(plain, { text: subscription.text }), 'subscription_expired')
  })

  test('audio_requires_payg, if the operator requires it; otherwise subscriptions are allowed', async () => {
    const { postgres } = gateway.database
    const subscriber = await createAccount(postgres)
    await subscribe(postgres, subscriber)
    const { text } = await createKey(postgres, subscriber, { kind: 'subscription' })
    await using strict = await startGateway({ AUDIO_REQUIRES_PAYG: 'true' }, gateway)
    await expectRefused(() => create(plain, { text, url: strict.url }), 'audio_requires_payg')
    expect((await create(plain, { text })).status).toBe(200)
  })
})
