import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { mediaPrograms } from '../../test/kit/media-programs.ts'
import { encoded, repeated, wave } from '../../test/kit/sound.ts'
import { createMeasureAudio } from './measure-audio.ts'

let directory: string
let count = 0
const sound = wave(3)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-measure-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const measureAudio = createMeasureAudio({ programs: mediaPrograms(), secondsMax: 60 })
const measured = async (bytes: Buffer, measure = measureAudio) => {
  count += 1
  const path = join(directory, `recording-${count}`)
  await writeFile(path, bytes)
  return measure(path, 'file', (work) => work(new AbortController().signal))
}
const problem = (code: string) => expect.objectContaining({ code, param: 'file' }) as Error

test.concurrent.each([
  ['flac', 'audio/flac', 'out.flac', []],
  ['mp3', 'audio/mpeg', 'out.mp3', []],
  ['mp3', 'audio/mpeg', 'out.mp3', ['-id3v2_version', '0', '-write_xing', '0']],
  ['mp3', 'audio/mpeg', 'out.mp2', ['-c:a', 'mp2']],
  ['mp4', 'audio/mp4', 'out.mp4', ['-c:a', 'aac']],
  ['mp4', 'audio/mp4', 'out.mp4', ['-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov']],
  ['mp4', 'audio/mp4', 'out.mp4', ['-c:a', 'libmp3lame']],
  ['mp4', 'audio/mp4', 'out.mp4', ['-c:a', 'libopus', '-strict', '-2']],
  ['mpeg', 'audio/mpeg', 'out.mpeg', ['-c:a', 'mp2']],
  ['mpeg', 'audio/mpeg', 'out.mpg', ['-c:a', 'ac3', '-f', 'vob']],
  ['m4a', 'audio/mp4', 'out.m4a', ['-c:a', 'aac']],
  ['m4a', 'audio/mp4', 'out.m4a', ['-c:a', 'alac']],
  ['ogg', 'audio/ogg', 'out.ogg', ['-c:a', 'libvorbis']],
  ['ogg', 'audio/ogg', 'out.oga', ['-c:a', 'flac']],
  ['ogg', 'audio/ogg', 'out.opus', ['-c:a', 'libopus']],
  ['wav', 'audio/wav', 'out.wav', ['-c:a', 'pcm_f32le']],
  ['webm', 'audio/webm', 'out.webm', ['-c:a', 'libopus']],
  ['webm', 'audio/webm', 'out.webm', ['-c:a', 'libvorbis', '-live', '1']],
] as const)('%s (%s) from %s %j', async (format, contentType, output, parameters) => {
  const found = await measured(await encoded(sound, output, [...parameters]))
  expect(found).toMatchObject({ format, contentType, extension: format })
  // An encoder adds a packet at either end.
  expect(found.durationSeconds).toBeGreaterThan(2.95)
  expect(found.durationSeconds).toBeLessThan(3.2)
})

test.concurrent('the duration of a video is that of its audio, and a cover image does not count', async () => {
  const film = ['-f', 'lavfi', '-i', 'testsrc=d=9:s=64x64:r=5', '-map', '0:a', '-map', '1:v']
  const mp4 = await encoded(sound, 'out.mp4', [...film, '-c:a', 'aac', '-c:v', 'libx264'])
  expect((await measured(mp4)).durationSeconds).toBeCloseTo(3.06, 0)
  const cover = ['-frames:v', '1', '-c:v', 'mjpeg', '-disposition:v', 'attached_pic']
  const mp3 = await encoded(sound, 'out.mp3', [...film, ...cover])
  expect((await measured(mp3)).durationSeconds).toBeCloseTo(3.06, 0)
})

/** Divides every stated duration by a hundred. */
const shortened = (bytes: Buffer) => {
  const at = bytes.indexOf('mdhd') + 16
  bytes.writeUInt32BE(bytes.readUInt32BE(at) * 100, at)
  return bytes
}

test.concurrent.each([
  ['aac', []],
  ['libmp3lame', []],
  ['alac', []],
  ['flac', ['-strict', '-2']],
  ['libopus', ['-strict', '-2']],
])('durations of %s that the container understates are not trusted', async (codec, parameters) => {
  const original = await encoded(sound, 'out.mp4', ['-c:a', codec, ...parameters, '-f', 'mp4'])
  const { durationSeconds } = await measured(shortened(original))
  expect(durationSeconds).toBeGreaterThan(2.95)
  expect(durationSeconds).toBeLessThan(3.4)
})

/** Adds the sizes of every ten packets, so that the file has a tenth of them. */
const merged = (bytes: Buffer) => {
  const at = bytes.indexOf('stsz')
  const count = bytes.readUInt32BE(at + 12)
  const sizes = Array.from({ length: count }, (_, index) => bytes.readUInt32BE(at + 16 + 4 * index))
  const sums = Array.from({ length: Math.floor(count / 10) }, (_, index) =>
    sizes.slice(10 * index, 10 * index + 10).reduce((sum, size) => sum + size, 0),
  )
  bytes.writeUInt32BE(sums.length, at + 12)
  for (const [index, sum] of sums.entries()) bytes.writeUInt32BE(sum, at + 16 + 4 * index)
  const chunks = bytes.indexOf('stsc')
  for (let index = 0; index < bytes.readUInt32BE(chunks + 8); index += 1) {
    bytes.writeUInt32BE(count, chunks + 16 + 12 * index)
  }
  return bytes
}

test.concurrent('several packets in one are all counted', async () => {
  const original = await encoded(sound, 'out.m4a', ['-c:a', 'aac'])
  expect((await measured(merged(original))).durationSeconds).toBeGreaterThan(2.5)
})

test.concurrent('two chunks of data in a WAV file are both counted', async () => {
  const [head, data] = [sound.subarray(0, 36), sound.subarray(36)]
  const little = Buffer.concat([data.subarray(0, 4), Buffer.from([64, 0, 0, 0]), Buffer.alloc(64)])
  const { durationSeconds } = await measured(Buffer.concat([head, little, data]))
  expect(durationSeconds).toBeGreaterThanOrEqual(3)
})

test.concurrent('a gap in the timeline counts, because a decoder fills it with silence', async () => {
  for (const codec of ['libopus', 'libvorbis']) {
    const gap = ['-af', "asetpts='PTS+if(gte(T,1),20,0)/TB'", '-c:a', codec]
    const { durationSeconds } = await measured(await encoded(sound, 'out.webm', gap))
    expect(durationSeconds).toBeGreaterThan(22.9)
    expect(durationSeconds).toBeLessThan(23.2)
  }
})

test.concurrent('a file with several audio streams is refused, with advice', async () => {
  const two = ['-f', 'lavfi', '-t', '0.3', '-i', 'anullsrc=r=16000:cl=mono', '-map', '1:a', '-map', '0:a']
  for (const output of ['out.m4a', 'out.webm', 'out.mpg', 'out.ogg']) {
    await expect(measured(await encoded(sound, output, two))).rejects.toThrow(
      "'file' contains 2 audio streams. Send a file with one of them, for example: ffmpeg -i input -map 0:a:0 output.flac",
    )
  }
})

test.concurrent('a file of one format inside the tags of another is refused', async () => {
  const tags = Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x00', 'latin1')
  const flac = await encoded(sound, 'out.flac')
  await expect(measured(Buffer.concat([tags, flac]))).rejects.toThrow(problem('invalid_file_format'))
})

/** Silence of some hours in a small file. */
const silence = async (hours: number, output: string, codec: string[]) => {
  const minute = ['-f', 'lavfi', '-i', 'anullsrc=r=48000:cl=stereo', '-map', '1:a', '-t', '60', ...codec]
  return repeated(await encoded(sound, output, minute), output, 60 * hours)
}

// Programs with the lowest priority wait for the tests beside them.
const idleLimit = { timeout: 600_000 }

test.concurrent('Opus is measured without decoding it', idleLimit, async () => {
  // Decoding an hour takes more than this CPU time.
  const limited = createMeasureAudio({
    ...{ programs: mediaPrograms(), secondsMax: 4_000, cpuSecondsMaxOf: () => 3 },
  })
  const opus = await silence(1, 'out.mp4', ['-c:a', 'libopus', '-b:a', '6k', '-strict', '-2'])
  expect((await measured(opus, limited)).durationSeconds).toBeCloseTo(3_600, -1)
})

test.concurrent(
  'a file that takes more CPU time than its size allows is refused, after it yielded to short ones',
  idleLimit,
  async () => {
    const limited = createMeasureAudio({
      ...{ programs: mediaPrograms(), secondsMax: 86_400, cpuSecondsMaxOf: () => 1 },
    })
    const path = join(directory, 'expensive')
    await writeFile(path, await silence(3, 'out.webm', ['-c:a', 'libvorbis']))
    const works: boolean[] = []
    const measuring = limited(path, 'file', (work, { isLong = false } = {}) => {
      works.push(isLong)
      return work(new AbortController().signal)
    })
    await expect(measuring).rejects.toThrow(/takes too long to decode for its size/)
    expect(works).toEqual([false, true])
  },
)

test.concurrent('a header with a wrong length is not trusted', async () => {
  for (const claimed of [0xff_ff_ff_ff, 0x7f_ff_ff_00]) {
    const bytes = Buffer.from(sound)
    bytes.writeUInt32LE(claimed, 40)
    expect(await measured(bytes)).toMatchObject({ format: 'wav', durationSeconds: 3 })
  }
})

test.concurrent('the duration of a truncated recording is that of the rest', async () => {
  const mp3 = await encoded(sound, 'out.mp3')
  const { durationSeconds } = await measured(mp3.subarray(0, mp3.length / 2))
  expect(durationSeconds).toBeGreaterThan(1)
  expect(durationSeconds).toBeLessThan(2)
})

test.concurrent('a recording that is too long is refused, and so are hours of silence in a small file', async () => {
  await expect(measured(wave(61))).rejects.toThrow(problem('invalid_parameter'))
  const silence = [
    '-f',
    'lavfi',
    '-i',
    'anullsrc=r=8000:cl=mono',
    '-map',
    '1:a',
    '-t',
    '3600',
    '-c:a',
    'flac',
  ]
  const bomb = await encoded(sound, 'out.flac', silence)
  expect(bomb.length).toBeLessThan(800_000)
  await expect(measured(bomb)).rejects.toThrow(problem('invalid_parameter'))
})

test.concurrent.each([
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('This is no sound at all, only words about it.')],
  ['a playlist', Buffer.from('#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:1/a.mp3\n')],
  ['tags alone', Buffer.concat([Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x0a'), Buffer.alloc(10)])],
  ['a header alone', sound.subarray(0, 44)],
  ['the beginning of a header', sound.subarray(0, 20)],
  [
    'tags and noise',
    Buffer.concat([Buffer.from('ID3\x04\x00\x00\x00\x00\x00\x00'), Buffer.alloc(9000, 0x55)]),
  ],
])('%s is refused', async (_, bytes) => {
  await expect(measured(bytes)).rejects.toThrow(problem('invalid_file_format'))
})

test.concurrent('a video without audio, a file without its index and an unsupported container are refused', async () => {
  const film = ['-f', 'lavfi', '-i', 'testsrc=d=1:s=64x64:r=5', '-map', '1:v']
  const silent = await encoded(sound, 'out.mp4', film)
  const whole = await encoded(sound, 'out.m4a')
  const matroska = await encoded(sound, 'out.mkv')
  for (const bytes of [silent, whole.subarray(0, whole.length / 2), matroska]) {
    await expect(measured(bytes)).rejects.toThrow(problem('invalid_file_format'))
  }
})

test.concurrent('a missing ffprobe is service_unavailable, not an error of the recording', async () => {
  const without = createMeasureAudio({
    programs: mediaPrograms({ FFPROBE_PATH: '/nowhere/ffprobe' }),
    secondsMax: 60,
  })
  await expect(measured(await encoded(sound, 'out.flac'), without)).rejects.toThrow(
    expect.objectContaining({ code: 'service_unavailable' }) as Error,
  )
})
