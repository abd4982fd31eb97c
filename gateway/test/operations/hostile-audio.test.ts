/** Malicious audio files: each gets a response, none causes a network request, and nothing is stored. */
import { createServer, type AddressInfo } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { audioForm, encoded, wave } from '../kit/sound.ts'
import { recordOf } from '../kit/start-gateway.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let key: string
let canaryUrl: string
let touched = 0

/** A server that must not receive any connection. */
const canary = createServer((socket) => {
  touched += 1
  socket.on('error', () => undefined).destroy()
})

beforeAll(async () => {
  await new Promise<void>((resolve) => canary.listen({ host: '127.0.0.1', port: 0 }, resolve))
  canaryUrl = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/sound`
  gateway = await startVendorGateway({ AUDIO_SECONDS_MAX: '3600' })
  const account = await createAccount(gateway.database.postgres, { balance: 1000 })
  key = (await createKey(gateway.database.postgres, account)).text
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await new Promise((resolve) => canary.close(resolve))
})

const sound = wave(2)
const send = (bytes: Buffer, filename = 'speech.mp3') =>
  ask(`${gateway.url}/v1/audio/transcriptions`, key, {
    method: 'POST',
    body: audioForm(bytes, { model: 'asr-1' }, filename),
  })

const id3 = Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x00', 'latin1')
const playlist = () => `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${canaryUrl}.ts\n#EXT-X-ENDLIST\n`
const webmHead = Buffer.from('1a45dfa3934286810142f7810142f2810442f381084282847765626d', 'hex')

test.each<[string, string, () => Buffer | string]>([
  ['no bytes', 'a.mp3', () => ''],
  ['one byte', 'a.wav', () => 'R'],
  ['a playlist with an audio file name', 'a.mp3', playlist],
  ['a playlist after tags', 'a.mp3', () => Buffer.concat([id3, Buffer.from(playlist())])],
  ['a playlist after an M4A header', 'a.m4a', () => `\0\0\0\x18ftypM4A \0\0\0\0M4A mp42${playlist()}`],
  ['a playlist after an Ogg header', 'a.ogg', () => `OggS${playlist()}`],
  ['an ffconcat list', 'a.wav', () => `ffconcat version 1.0\nfile '${canaryUrl}.wav'\nfile /etc/passwd\n`],
  ['an SDP file', 'a.sdp', () => `v=0\no=- 0 0 IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n`],
  ['a DASH manifest', 'a.mp4', () => `<?xml version="1.0"?><MPD><BaseURL>${canaryUrl}</BaseURL></MPD>`],
  ['an HTML page', 'a.mp3', () => `<!doctype html><audio src="${canaryUrl}"></audio>`],
  [
    'an SVG image',
    'a.wav',
    () => `<svg xmlns="http://www.w3.org/2000/svg"><image href="${canaryUrl}"/></svg>`,
  ],
  ['subtitles', 'a.mp3', () => '1\n00:00:00,000 --> 00:00:01,000\nHello\n\n'],
  ['a ZIP archive', 'a.flac', () => Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(200)])],
  ['an executable', 'a.wav', () => Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01'), Buffer.alloc(200)])],
  ['a PNG image', 'a.ogg', () => Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
  ['only tags', 'a.mp3', () => Buffer.concat([id3, Buffer.alloc(4_096)])],
  ['tags with a wrong length', 'a.mp3', () => Buffer.from('ID3\x04\x00\x00\x7f\x7f\x7f\x7fTIT2', 'latin1')],
  ['a WAV file without samples', 'a.wav', () => sound.subarray(0, 44)],
  ['a WAV file with a sample rate of 0', 'a.wav', () => Buffer.from(sound).fill(0, 24, 32)],
  ['a WAV file with an unknown codec', 'a.wav', () => Buffer.from(sound).fill(0xee, 20, 22)],
  ['another RIFF file', 'a.wav', () => `RIFF\x40\0\0\0AVI LIST${'\0'.repeat(64)}`],
  ['an empty WebM container', 'a.webm', () => webmHead],
  [
    'a FLAC header before noise',
    'a.flac',
    () => Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(9_000, 7)]),
  ],
  [
    'noise that begins like an MP3 frame',
    'a.mp3',
    () => Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(50, 1)]),
  ],
])('%s is refused as a recording', async (_, filename, make) => {
  const before = await recordOf(gateway)
  const bytes = Buffer.from(make() as string)
  expectProblem(await send(bytes, filename), 'invalid_file_format', 'file')
  expect(await recordOf(gateway)).toEqual(before)
  expect(touched).toBe(0)
})

/** Inserts bytes into an MP4 box and adjusts the sizes of the box and its parents. */
const insertInto = (file: Buffer, path: string[], at: number, inserted: Buffer): Buffer => {
  const bytes = Buffer.concat([file.subarray(0, at), inserted, file.subarray(at)])
  let from = 0
  for (const name of path) {
    const box = bytes.indexOf(name, from, 'latin1') - 4
    bytes.writeUInt32BE(bytes.readUInt32BE(box) + inserted.length, box)
    from = box + 8
  }
  return bytes
}

test('external sample references are not followed', async () => {
  const m4a = await encoded(sound, 'out.m4a')
  const entry = m4a.indexOf('url ', m4a.indexOf('dref')) - 4
  m4a.writeUInt32BE(0, entry + 8)
  const location = Buffer.from(`${canaryUrl}.m4a\0`)
  const path = ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref', 'url ']
  const answer = await send(insertInto(m4a, path, entry + 12, location), 'a.m4a')
  expect([200, 400]).toContain(answer.status)
  expect(touched).toBe(0)
})

test('a playlist after the audio is ignored, and one before it makes the file invalid', async () => {
  const mp3 = await encoded(sound, 'out.mp3')
  expect((await send(Buffer.concat([mp3, Buffer.from(playlist())]))).status).toBe(200)
  expectProblem(await send(Buffer.concat([Buffer.from(playlist()), mp3])), 'invalid_file_format', 'file')
  expect(touched).toBe(0)
})

test('a small file that plays for hours is refused', async () => {
  const hours = ['-f', 'lavfi', '-i', 'anullsrc=r=1000:cl=mono', '-map', '1:a', '-t', '36000']
  const bomb = await encoded(sound, 'out.flac', hours)
  expect(bomb.length).toBeLessThan(8_000_000)
  expectProblem(await send(bomb), 'invalid_parameter', 'file')
})

test('a packet with an excessive duration is refused', async () => {
  const m4a = await encoded(sound, 'out.m4a')
  m4a.writeUInt32BE(0x7f_ff_ff_ff, m4a.indexOf('stts') + 16)
  expect((await send(m4a)).status).toBe(400)
})

/** A deterministic random number generator. */
const numbersFrom = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

test('a truncated or corrupted file gives a transcript or an error', async () => {
  const random = numbersFrom(20_251_215)
  const files = await Promise.all(
    ['out.flac', 'out.mp3', 'out.m4a', 'out.ogg', 'out.wav', 'out.webm'].map((name) => encoded(sound, name)),
  )
  const corrupted = files.flatMap((file) => {
    const cut = [0.1, 0.6].map((share) => file.subarray(0, Math.floor(file.length * share)))
    const overwritten = [30, 300].map((from) => {
      const bytes = Buffer.from(file)
      for (let count = 0; count < 12; count += 1) {
        bytes[from + Math.floor(random() * 600)] = Math.floor(random() * 256)
      }
      return bytes
    })
    return [...cut, ...overwritten]
  })
  const answers = []
  for (const bytes of corrupted) answers.push(await send(bytes))
  for (const { status, body } of answers) {
    if (status === 200) expect(body).toEqual({ text: expect.any(String) })
    else
      expect(['invalid_file_format', 'invalid_parameter']).toContain((body['error'] as { code: string }).code)
  }
  expect(touched).toBe(0)
})

test('after all tests, a recording is still transcribed and no files are left', async () => {
  expect((await send(sound)).body).toEqual({ text: `vendor transcript of ${sound.length} bytes` })
  const { files } = await recordOf(gateway)
  expect(files).toEqual([])
  expect(touched).toBe(0)
})
