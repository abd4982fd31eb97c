import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { PassThrough, Readable } from 'node:stream'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { failureOf } from '../../../../test/kit/listen-for-test.ts'
import { ProviderFailure } from '../../port/failure.ts'
import { encodeSpeech, type SpeechEncoding } from './encode-speech.ts'
import { hasFirstByte } from './first-byte.ts'

const tone = (seconds: number, rate: number): Buffer => {
  const samples = Int16Array.from({ length: Math.round(seconds * rate) }, (_, at) =>
    Math.round(8_000 * Math.sin((2 * Math.PI * 220 * at) / rate)),
  )
  return Buffer.from(samples.buffer)
}

const forever = new AbortController().signal
const encode = (pcm: Readable, given: Partial<SpeechEncoding> = {}, signal = forever, program = 'ffmpeg') =>
  encodeSpeech(pcm, { rate: 24_000, format: 'mp3', speed: 1, ...given }, program, signal)

/** The format and duration according to ffprobe. */
const probed = async (bytes: Buffer, format: SpeechEncoding['format']) => {
  const given = format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : []
  const probing = promisify(execFile)(
    'ffmpeg',
    [
      ...['-v', 'info', '-nostdin', ...given, '-i', 'pipe:0', '-f', 's16le', '-ar', '24000', 'pipe:1'],
      ...['-f', 'null', '-'],
    ],
    { encoding: 'buffer', maxBuffer: 10_000_000 },
  )
  probing.child.stdin?.on('error', () => undefined).end(bytes)
  const { stdout, stderr } = await probing
  const [, codec, sound] = /Stream #0:0.*?: Audio: (\w+).*?, (\d+ Hz, \w+)/.exec(stderr.toString()) ?? []
  return { codec, sound, seconds: stdout.length / 48_000 }
}

test.each([
  ['mp3', 1, 24_000, 'mp3', '24000 Hz, mono'],
  ['opus', 0.5, 16_000, 'opus', '48000 Hz, mono'],
  ['aac', 2, 24_000, 'aac', '24000 Hz, mono'],
  ['flac', 0.5, 48_000, 'flac', '24000 Hz, mono'],
  ['wav', 0.25, 24_000, 'pcm_s16le', '24000 Hz, mono'],
  ['pcm', 4, 24_000, 'pcm_s16le', '24000 Hz, mono'],
] as const)('%s at speed %d from %d Hz', async (format, speed, rate, codec, sound) => {
  // Long enough that the initial silence of some encoders does not matter.
  const encoded = encode(Readable.from([tone(4, rate)]), { format, speed, rate })
  const found = await probed(Buffer.concat(await encoded.toArray()), format)
  expect(found).toMatchObject({ codec, sound })
  expect(Math.abs(found.seconds / (4 / speed) - 1)).toBeLessThan(0.05)
})

test('PCM is passed through unchanged, with any chunk boundaries', async () => {
  const pcm = tone(0.1, 24_000)
  const source = () => Readable.from([pcm.subarray(0, 7), pcm.subarray(7)])
  const plain = await encode(source(), { format: 'pcm' }, forever, 'no such program').toArray()
  expect(Buffer.concat(plain).equals(pcm)).toBe(true)
  const lossless = Buffer.concat(await encode(source(), { format: 'wav' }).toArray())
  expect(lossless.subarray(-pcm.length).equals(pcm)).toBe(true)
})

test('the first bytes arrive before the source has ended', async () => {
  const all = (['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const).map(async (format) => {
    const source = new PassThrough()
    const encoded = encode(source, { format })
    source.write(tone(0.5, 24_000))
    expect(await hasFirstByte(encoded)).toBe(true)
    encoded.destroy()
    await expect.poll(() => source.destroyed).toBe(true)
  })
  await Promise.all(all)
})

test('a reader that does not read pauses the source', async () => {
  let seconds = 0
  async function* endless() {
    for (; seconds < 10_000; seconds += 1) yield tone(1, 24_000)
  }
  const encoded = encode(Readable.from(endless(), { objectMode: false }), { format: 'wav' })
  await hasFirstByte(encoded)
  // While data is still in flight, the count grows between two reads.
  let before = -1
  await expect
    .poll(
      () => {
        const isStill = seconds === before
        before = seconds
        return isStill
      },
      { interval: 100 },
    )
    .toBe(true)
  expect(seconds).toBeLessThan(60)
  encoded.destroy()
})

/** The running encoders of this process. */
const encoders = async (): Promise<number[]> => {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  return children.trim().split(' ').filter(Boolean).map(Number)
}

test('destroying the output ends the source and the encoder', async () => {
  const others = await encoders()
  const leave = new AbortController()
  const source = new PassThrough()
  const encoded = encode(source, {}, leave.signal)
  source.write(tone(1, 24_000))
  await hasFirstByte(encoded)
  const own = (await encoders()).filter((pid) => !others.includes(pid))
  expect(own).toHaveLength(1)
  leave.abort()
  expect(await failureOf(encoded.toArray())).toMatchObject({ kind: 'unknown' })
  await expect.poll(() => source.destroyed).toBe(true)
  await expect.poll(async () => (await encoders()).filter((pid) => own.includes(pid))).toEqual([])
})

test('a crashed encoder is an error of the stream', async () => {
  const others = await encoders()
  const source = new PassThrough()
  const encoded = encode(source)
  source.write(tone(1, 24_000))
  await hasFirstByte(encoded)
  const [own = 0] = (await encoders()).filter((pid) => !others.includes(pid))
  process.kill(own, 'SIGKILL')
  expect(await failureOf(encoded.toArray())).toMatchObject({
    kind: 'unknown',
    message: expect.stringContaining('ffmpeg ended with signal SIGKILL'),
  })
  await expect.poll(() => source.destroyed).toBe(true)
})

test('a source that breaks off is an error of the stream', async () => {
  async function* broken() {
    yield tone(1, 24_000)
    throw new ProviderFailure('moderated', 'enough', { code: 'content_policy_violation' })
  }
  for (const format of ['mp3', 'pcm'] as const) {
    const encoded = encode(Readable.from(broken(), { objectMode: false }), { format })
    expect(await failureOf(encoded.toArray())).toMatchObject({ kind: 'moderated', message: 'enough' })
  }
})

test('the failure names a missing encoder', async () => {
  const source = Readable.from([tone(1, 24_000)])
  const encoded = encode(source, {}, forever, '/nowhere/ffmpeg')
  expect(await failureOf(hasFirstByte(encoded))).toMatchObject({
    code: 'service_unavailable',
    message: "ffmpeg was not found at '/nowhere/ffmpeg': install it, or set FFMPEG_PATH",
  })
})
