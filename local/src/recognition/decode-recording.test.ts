import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { childPrograms } from '../../test/kit/child-programs.ts'
import { ffmpeg, say } from '../../test/kit/recordings.ts'
import { findFfmpeg, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { decodeRecording } from './decode-recording.ts'

let root: string
let tool: FfmpegTool
let folders = 0

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-decode-'))
  tool = await findFfmpeg({ ffmpegPath: 'ffmpeg' })
  await say(path.join(root, 'speech.wav'), 'Hello world.')
})
afterAll(async () => {
  await rm(root, { recursive: true, force: true })
})

async function decode(
  recording: Buffer,
  mostSeconds = 60,
  signal = new AbortController().signal,
): Promise<number> {
  const folder = path.join(root, `decode-${folders++}`)
  await mkdir(folder)
  await writeFile(path.join(folder, 'recording'), recording)
  const file = await decodeRecording({ tool, folder, recordingName: 'recording', mostSeconds, signal })
  return (await stat(file)).size / 32_000
}

async function made(name: string, ...args: string[]): Promise<Buffer> {
  await ffmpeg(root, ...args, name)
  return await readFile(path.join(root, name))
}

const refused = { status: 400, code: 'invalid_file_format' }

test('all supported formats are decoded', async () => {
  const expected = (await stat(path.join(root, 'speech.wav'))).size / 44_100
  const film = ['-f', 'lavfi', '-i', 'testsrc=s=64x64:r=25', '-shortest']
  const kinds: [file: string, ...args: string[]][] = [
    ['x.flac'],
    ['x.mp3'],
    ['x.mp2'],
    ['x.m4a'],
    ['x.ogg', '-c:a', 'libvorbis'],
    ['x.opus'],
    ['x.wav', '-c:a', 'pcm_u8'],
    ['x.webm'],
    ['film.mp4', ...film],
    ['film.mpeg', ...film],
  ]
  const lengths = kinds.map(async ([file, ...args]) => {
    const seconds = await decode(await made(file, '-i', 'speech.wav', ...args))
    return [file, Math.abs(seconds - expected) < 0.15 ? 'right' : seconds]
  })
  expect(await Promise.all(lengths)).toEqual(kinds.map(([file]) => [file, 'right']))
})

test('a file that is not a recording is rejected', async () => {
  const speech = await readFile(path.join(root, 'speech.wav'))
  const mp4 = await made('cut.mp4', '-i', 'speech.wav')
  const silentFilm = await made('silent.mp4', '-f', 'lavfi', '-i', 'testsrc=s=64x64:r=5', '-t', '1')
  const noise = Buffer.from(
    Uint8Array.from({ length: 20_000 }, (_, index) => (index * 7919 + (index >> 3)) % 251),
  )
  const files = [
    Buffer.alloc(0),
    Buffer.from('Hello.'),
    noise,
    speech.subarray(0, 44),
    mp4.subarray(0, mp4.length / 2),
    silentFilm,
  ]
  await Promise.all(files.map((file) => expect(decode(file)).rejects.toMatchObject(refused)))
})

test('a truncated recording is decoded up to its end', async () => {
  const mp3 = await made('whole.mp3', '-i', 'speech.wav')
  const whole = await decode(mp3)
  const half = await decode(mp3.subarray(0, mp3.length / 2))
  expect(half).toBeGreaterThan(whole * 0.3)
  expect(half).toBeLessThan(whole * 0.7)
})

test('a playlist opens neither files nor addresses', async () => {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url ?? '')
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret.wav`
  const local = path.join(root, 'speech.wav')
  const playlist = (target: string) =>
    `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n${target}\n#EXT-X-ENDLIST\n`
  const mp3WithPlaylist = Buffer.concat([
    Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'),
    Buffer.from(playlist(local)),
  ])
  // A film whose tables reference audio in another file.
  const outside = await made('outside.mov', '-i', 'speech.wav', '-c:a', 'pcm_s16le')
  const reference = outside.indexOf('url ')
  outside.writeUInt32BE(0, reference + 4)
  const files = [
    Buffer.from(playlist(local)),
    Buffer.from(playlist(address)),
    Buffer.from(`ffconcat version 1.0\nfile '${local}'\n`),
    Buffer.from(`<?xml version="1.0"?><MPD><BaseURL>${address}</BaseURL></MPD>`),
    Buffer.from(`[playlist]\nFile1=${address}\n`),
    mp3WithPlaylist,
  ]
  await Promise.all(files.map((file) => expect(decode(file)).rejects.toMatchObject(refused)))
  await decode(outside).catch((error: unknown) => expect(error).toMatchObject(refused))
  expect(requested).toEqual([])
  await new Promise<void>((resolve) => server.close(() => resolve()))
})

test('a small file with hours of silence is rejected, with or without its length in the header', async () => {
  const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '1000']
  const bomb = await made('bomb.flac', ...silence)
  expect(bomb.length).toBeLessThan((1000 * 32_000) / 100)
  await expect(decode(bomb, 60)).rejects.toMatchObject(refused)
  // The number of samples is in 36 bits of the header, from the middle of byte 21 on. 0 means unknown.
  bomb[21] = bomb[21]! & 0xf0
  bomb.fill(0, 22, 26)
  await expect(decode(bomb, 60)).rejects.toMatchObject(refused)
  const { size } = await stat(path.join(root, `decode-${folders - 1}`, 'samples.s16'))
  expect(size).toBeLessThanOrEqual(60 * 32_000)
})

test('aborting ends all child processes', async () => {
  const stop = new AbortController()
  const decoding = decode(await readFile(path.join(root, 'bomb.flac')), 10_000, stop.signal)
  const programs = () => childPrograms().filter((name) => name === 'ffmpeg' || name === 'bwrap')
  await expect.poll(() => programs(), { interval: 1 }).toContain('ffmpeg')
  stop.abort(new Error('enough'))
  await expect(decoding).rejects.toThrow('enough')
  expect(programs()).toEqual([])
})
