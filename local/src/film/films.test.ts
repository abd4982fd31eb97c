import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { filmShape } from '../drawing/film-shape.ts'
import { findFfmpeg, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import type { JobFiles, JobRequest } from '../jobs/job.ts'
import { watermarkBox } from './overlay.ts'
import { filmFileName, renderFilm } from './render-film.ts'

const run = promisify(execFile)

const side = 128
const lastFrame = 23
const plain: JobRequest = {
  model: 'm',
  prompt: 'sand dunes',
  seconds: 1,
  width: side,
  height: side,
  watermark: false,
}

let root: string
let tool: FfmpegTool
/** A film of sand dunes, the source of remixes and the base of comparisons. */
let dunes: string
let dunesFrame: Buffer

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-films-'))
  tool = await findFfmpeg({ ffmpegPath: 'ffmpeg' })
  dunes = await render('dunes', {})
  dunesFrame = await frameOf(dunes, 12)
})
afterAll(async () => {
  await rm(root, { recursive: true, force: true })
})

async function render(
  name: string,
  request: Partial<JobRequest>,
  files: Partial<JobFiles> = {},
): Promise<string> {
  const workDirectory = path.join(root, name)
  await mkdir(workDirectory)
  const task = {
    request: { ...plain, ...request },
    files: { references: [], characters: [], source: undefined, ...files },
    workDirectory,
    tool,
    threads: 1,
  }
  await renderFilm(task, () => {})
  return path.join(workDirectory, filmFileName)
}

async function image(name: string, background: string): Promise<string> {
  const file = path.join(root, name)
  const create = { width: side, height: side, channels: 3 as const, background }
  await sharp({ create }).png().toFile(file)
  return file
}

async function frameOf(film: string, frame: number): Promise<Buffer> {
  const { stdout } = await run(
    'ffmpeg',
    [
      ...['-v', 'error', '-i', film, '-vf', `select=eq(n\\,${frame})`, '-frames:v', '1'],
      ...['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-'],
    ],
    { encoding: 'buffer' },
  )
  return stdout
}

function meanColour(pixels: Buffer): number[] {
  const sums = [0, 0, 0]
  for (const [at, value] of pixels.entries()) sums[at % 3]! += value
  return sums.map((sum) => (sum * 3) / pixels.length)
}

function distance(one: number[], other: number[]): number {
  return Math.max(...one.map((channel, index) => Math.abs(channel - other[index]!)))
}

async function streamsOf(film: string): Promise<unknown> {
  const entries = 'stream=codec_name,width,height,nb_frames'
  const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', '-show_entries', entries, film])
  return (JSON.parse(stdout) as { streams: unknown }).streams
}

test.concurrent('a remix has other colours than its source, and the requested size and duration', async () => {
  const remix = await render(
    'remix',
    { prompt: 'make it night', width: 96, height: 160, seconds: 1.5 },
    { source: dunes },
  )
  expect(await streamsOf(remix)).toMatchObject([
    { codec_name: 'h264', width: 96, height: 160, nb_frames: '36' },
    { codec_name: 'aac' },
  ])
  const before = meanColour(dunesFrame)
  const after = meanColour(await frameOf(remix, 12))
  expect(distance(before, after)).toBeGreaterThan(40)
})

/** The largest difference between the channels of a pixel, averaged. */
function meanSaturation(pixels: Buffer): number {
  let sum = 0
  for (let at = 0; at < pixels.length; at += 3) {
    const [red = 0, green = 0, blue = 0] = pixels.subarray(at, at + 3)
    sum += Math.max(red, green, blue) - Math.min(red, green, blue)
  }
  return (sum * 3) / pixels.length
}

/** The upper half of a frame, which has no caption. */
function upperHalf(frame: Buffer): Buffer {
  return frame.subarray(0, frame.length / 2)
}

test.concurrent.each(['add a dog', 'now with a penguin', '换成一只猫', 'slower, please'])(
  'a remix keeps the colours of its source: %s',
  async (prompt) => {
    const remix = await render(`kept ${prompt}`, { prompt }, { source: dunes })
    const [before, after] = [upperHalf(dunesFrame), upperHalf(await frameOf(remix, 12))]
    // Two lossy encodings differ a little.
    expect(distance(meanColour(before), meanColour(after))).toBeLessThan(4)
    const changed = before.filter((value, at) => Math.abs(value - after[at]!) > 24).length
    expect(changed / before.length).toBeLessThan(0.02)
  },
)

test.concurrent.each([
  ['a red car, in black and white', undefined],
  ['一辆红色的汽车，黑白电影', undefined],
  ['a red car', 'black and white'],
  ['a red car, film noir', undefined],
])('a film without colours has none: %s, style %s', async (prompt, style) => {
  const request = { prompt, width: 192, height: 108, ...(style === undefined ? {} : { style }) }
  const film = await render(`grey ${prompt} ${style ?? ''}`, request)
  expect(meanSaturation(await frameOf(film, 12))).toBeLessThan(3)
})

test.concurrent.each([
  ['make it black and white', 0, 3],
  ['变成黑白', 0, 3],
  ['sepia, please', 15, 80],
  ['改成怀旧色调', 15, 80],
])('a remix may ask for other colours: %s', async (prompt, min, max) => {
  const remix = await render(`treated ${prompt}`, { prompt }, { source: dunes })
  const frame = upperHalf(await frameOf(remix, 12))
  expect(meanSaturation(frame)).toBeGreaterThanOrEqual(min)
  expect(meanSaturation(frame)).toBeLessThan(max)
  const [red = 0, , blue = 0] = meanColour(frame)
  if (max > 3) expect(red).toBeGreaterThan(blue + 15)
})

test.concurrent.each([
  ['a playlist', '#EXTM3U\nfile:///etc/passwd\n'],
  ['an MP4 in name only', '\u0000\u0000\u0000\u0018ftypmp42\u0000\u0000\u0000\u0000mp42isom'],
])('a source that is %s fails', async (name, content) => {
  const source = path.join(root, `${name}.mp4`)
  await writeFile(source, content)
  await expect(render(name, {}, { source })).rejects.toMatchObject({ code: 'upstream_error' })
})

test.concurrent('a character is visible in the film', async () => {
  const film = await render(
    'character',
    { characters: ['mina'] },
    { characters: [await image('mina.png', '#00ff00')] },
  )
  const withMina = await frameOf(film, 12)
  const greenCount = (pixels: Buffer) => {
    let count = 0
    for (let at = 0; at < pixels.length; at += 3) {
      if (pixels[at + 1]! > 180 && pixels[at]! < 90 && pixels[at + 2]! < 90) count++
    }
    return count
  }
  expect(greenCount(dunesFrame)).toBe(0)
  expect(greenCount(withMina)).toBeGreaterThan(side * side * 0.04)
})

test.concurrent('a film in frames mode starts with the first image and ends with the last', async () => {
  const references = [await image('red.png', '#c02020'), await image('blue.png', '#2040c0')]
  const film = await render('frames', { referenceMode: 'frames' }, { references })
  const [first, middle, last] = await Promise.all(
    [0, 12, lastFrame].map(async (frame) => meanColour(await frameOf(film, frame))),
  )
  expect(distance(first!, [0xc0, 0x20, 0x20])).toBeLessThan(6)
  expect(distance(last!, [0x20, 0x40, 0xc0])).toBeLessThan(6)
  expect(distance(middle!, first!)).toBeGreaterThan(25)
  expect(distance(middle!, last!)).toBeGreaterThan(25)
})

test.concurrent('components appear in a scene', async () => {
  const references = [await image('green.png', '#00ff00'), await image('teal.png', '#00ffff')]
  const film = await render('components', { referenceMode: 'components' }, { references })
  const frame = await frameOf(film, 12)
  const corner = (pixels: Buffer) => [...pixels.subarray(0, 3)]
  expect(distance(corner(frame), corner(dunesFrame))).toBeLessThan(6)
  expect(distance(meanColour(frame), meanColour(dunesFrame))).toBeGreaterThan(10)
})

/** The sound of a film, as interleaved 16-bit stereo; empty without a sound track. */
async function soundOf(film: string): Promise<Int16Array> {
  const { stdout } = await run('ffmpeg', ['-v', 'quiet', '-i', film, '-map', '0:a?', '-f', 's16le', '-'], {
    ...{ encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 },
  }).catch(() => ({ stdout: Buffer.alloc(0) }))
  return new Int16Array(new Uint8Array(stdout).buffer)
}

test.concurrent('a film may have no sound track, or play an uploaded one', async () => {
  expect(await soundOf(await render('silent', { sound: false }))).toHaveLength(0)
  const soundtrack = path.join(root, 'tone.flac')
  await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'sine=f=3000:d=1', '-ac', '2', soundtrack])
  const crossings = (sound: Int16Array) =>
    sound.filter((value, index) => index > 1 && value > 0 !== (sound[index - 2] ?? 0) > 0).length
  const film = await render('soundtrack', {}, { soundtrack })
  // The tone crosses zero 6,000 times in a second on both sides; music alone does so far less often.
  expect(crossings(await soundOf(film))).toBeGreaterThan(2 * crossings(await soundOf(dunes)))
  const broken = path.join(root, 'broken.flac')
  await writeFile(broken, 'fLaC and nothing else')
  await expect(render('broken soundtrack', {}, { soundtrack: broken })).rejects.toThrow(
    'could not be decoded',
  )
  await writeFile(broken, 'not audio')
  await expect(render('no soundtrack', {}, { soundtrack: broken })).rejects.toThrow('not an audio file')
})

/** The contrast ratio as defined by WCAG. */
function contrast(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}

function luminance(red: number, green: number, blue: number): number {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((channel) => {
    const share = channel / 255
    return share <= 0.04 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

test.concurrent.each([
  ['a rabbit in the snow', undefined],
  ['a cup on a table', undefined],
  ['sand dunes at noon', undefined],
  ['night', undefined],
  ['a white image', '#ffffff'],
  ['a yellow image', '#ffe680'],
])('the watermark is legible: %s', async (prompt, background) => {
  const size = { width: 640, height: 360 }
  const references = background === undefined ? [] : [await image(`${prompt}.png`, background)]
  const request = { prompt, ...size, watermark: true, referenceMode: 'frames' as const }
  const film = await render(`watermark ${prompt}`, request, { references })
  const pixels = await frameOf(film, 12)
  const box = watermarkBox(filmShape({ ...size, seconds: 1 }))
  const values: number[] = []
  for (let y = Math.ceil(box.y + 2); y < box.y + box.height - 2; y++) {
    for (let x = Math.ceil(box.x + box.height / 2); x < box.x + box.width - box.height / 2; x++) {
      const at = (y * size.width + x) * 3
      values.push(luminance(pixels[at]!, pixels[at + 1]!, pixels[at + 2]!))
    }
  }
  values.sort((one, other) => one - other)
  const share = (part: number) => values[Math.floor(part * (values.length - 1))]!
  // More than half of the plate is empty, and the letters are its brightest part.
  expect(contrast(share(0.97), share(0.5))).toBeGreaterThan(4.5)
})

/** The boxes of text that the note in a film lists. */
async function textBoxes(film: string): Promise<string[]> {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', '-show_format', film])
  const { format } = JSON.parse(stdout) as { format: { tags: { comment: string } } }
  return format.tags.comment.split(' ').slice(2)
}

test.concurrent.each([
  ['a cat in a garden', 192, 108, 1],
  ['a cat in a garden', 144, 144, 1],
  ['a cat in a garden', 108, 192, 0],
  ['jazz', 108, 192, 1],
])('%s at %sx%s has %s texts', async (prompt, width, height, count) => {
  const film = await render(`texts ${prompt} ${width}`, { prompt, width, height })
  expect(await textBoxes(film)).toHaveLength(count)
})

test.concurrent.each([
  ['quarterly results', 320, 180],
  ['quarterly results', 180, 320],
  ['人工智能改变生活', 240, 240],
])('the title of %s at %sx%s is legible, and the card moves', async (prompt, width, height) => {
  const film = await render(`title ${prompt} ${width}`, { prompt, width, height, seconds: 2 })
  const [frame, later] = await Promise.all([frameOf(film, 30), frameOf(film, 36)])
  const [x = 0, y = 0, boxWidth = 0, boxHeight = 0] = (await textBoxes(film))[0]!.split(',').map(Number)
  const values: number[] = []
  for (let row = y; row < y + boxHeight; row++) {
    for (let column = x; column < x + boxWidth; column++) {
      const at = (row * width + column) * 3
      values.push(luminance(frame[at]!, frame[at + 1]!, frame[at + 2]!))
    }
  }
  values.sort((one, other) => one - other)
  const share = (part: number) => values[Math.floor(part * (values.length - 1))]!
  expect(contrast(share(0.98), share(0.4))).toBeGreaterThan(4.5)
  expect(boxWidth * boxHeight).toBeGreaterThan(width * height * 0.05)
  expect(frame.filter((value, at) => Math.abs(value - later[at]!) > 12).length).toBeGreaterThan(100)
})

test.concurrent('the same prompt and seed make the same film, byte by byte', async () => {
  const request = { prompt: 'a red car and a dog running', seed: 7, width: 192, height: 108 }
  const [one, other] = await Promise.all([render('twin 1', request), render('twin 2', request)])
  expect(await readFile(one)).toEqual(await readFile(other))
})

test.concurrent('subjects that move in the scene move in the film', async () => {
  const film = await render('cat', { prompt: 'a cat in a garden', width: 320, height: 180 })
  const [early, late] = await Promise.all([frameOf(film, 8), frameOf(film, 16)])
  const changed = early.filter((value, at) => Math.abs(value - late[at]!) > 40).length
  expect(changed).toBeGreaterThan(60)
})
