/**
 * Renders short films through the server of the built-in provider and puts a frame of each on a contact sheet:
 * docs/contact-sheet.png has every kind of film, docs/picture-book.png and docs/everyday-prompts.png have everyday prompts. Run
 * it after changing how films are drawn. The argument `films`, `picture-book` or `everyday` makes only that sheet.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import sharp from 'sharp'

import { startLocalProvider } from '../local/src/server/server.ts'
import { everydayPrompts } from '../local/test/kit/everyday-prompts.ts'
import { pictureBook } from '../local/test/kit/picture-book.ts'

const run = promisify(execFile)

interface Film {
  name: string
  /** The text under its frame. */
  label: string
  prompt: string
  size: [width: number, height: number]
  watermark?: boolean
  referenceMode?: 'frames' | 'components'
  /** Names of earlier films of the sheet, or of `drawings`. */
  references?: string[]
  source?: string
  characters?: string[]
}

const wide: Film['size'] = [640, 360]
const upright: Film['size'] = [360, 640]
const square: Film['size'] = [480, 480]

const films: Film[] = [
  {
    name: 'whale',
    label: 'water, sunset',
    prompt: 'A whale swimming through a calm ocean at sunset',
    size: wide,
  },
  {
    name: 'forest',
    label: 'forest, upright',
    prompt: 'A quiet pine forest with fireflies',
    size: upright,
  },
  {
    name: 'city',
    label: 'city, a long caption',
    prompt:
      'A neon city at night in heavy rain, seen from a rooftop, with a slow camera move, long reflections and soft volumetric light',
    size: square,
  },
  {
    name: 'dunes',
    label: 'dunes, watermark off',
    prompt: 'A hot air balloon over golden dunes in the desert',
    size: wide,
    watermark: false,
  },
  {
    name: 'space',
    label: 'space, square',
    prompt: 'An astronaut floating near a ringed planet',
    size: square,
    watermark: false,
  },
  {
    name: 'chinese',
    label: 'mountains, a Chinese prompt',
    prompt: '樱花飘落的山谷，远处有一只鹤',
    size: wide,
  },
  {
    name: 'dragon',
    label: 'mountains, snowfall',
    prompt: 'A dragon over snowy mountains',
    size: upright,
  },
  {
    name: 'winter',
    label: 'remix of the first film',
    prompt: 'Make it winter, with falling snow',
    size: wide,
    source: 'whale',
  },
  {
    name: 'neon',
    label: 'remix of the dunes, with a character',
    prompt: 'Neon lights for @otto',
    size: square,
    source: 'dunes',
    characters: ['otto'],
  },
  {
    name: 'cast',
    label: 'two characters',
    prompt: '@mina and @otto take a walk under autumn leaves',
    size: wide,
    characters: ['mina', 'otto'],
  },
  {
    name: 'frames',
    label: 'frames: from the dunes to space, halfway',
    prompt: 'From the desert to the stars',
    size: wide,
    referenceMode: 'frames',
    references: ['dunes', 'space'],
  },
  {
    name: 'components',
    label: 'components: a mug, a photo, a portrait',
    prompt: 'A coffee by the lake on a summer day',
    size: wide,
    referenceMode: 'components',
    references: ['mug', 'forest', 'mina'],
  },
]

function portrait(look: { skin: string; hair: string; shirt: string; wall: string }): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512"><rect width="512" height="512" fill="${look.wall}"/><circle cx="400" cy="110" r="180" fill="#fff" opacity="0.22"/><path d="M60 512C70 400 170 370 256 370S442 400 452 512Z" fill="${look.shirt}"/><rect x="216" y="300" width="80" height="110" rx="36" fill="${look.skin}"/><ellipse cx="256" cy="230" rx="110" ry="130" fill="${look.skin}"/><path d="M140 230C130 90 210 60 262 66C350 60 390 130 370 236C360 190 330 160 300 150C250 170 190 160 164 170C150 190 146 210 140 230Z" fill="${look.hair}"/><circle cx="214" cy="236" r="12" fill="#222"/><circle cx="298" cy="236" r="12" fill="#222"/><path d="M216 300Q256 330 296 300" stroke="#a33" stroke-width="9" fill="none" stroke-linecap="round"/></svg>`
}

const drawings: Record<string, string> = {
  mina: portrait({ skin: '#f0c39b', hair: '#4a2a18', shirt: '#2f6f9f', wall: '#f6c95a' }),
  otto: portrait({ skin: '#8d5a3b', hair: '#1a1210', shirt: '#c0392b', wall: '#6fcaa4' }),
  mug: '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="600"><defs><linearGradient id="glaze"><stop offset="0" stop-color="#f0654e"/><stop offset="0.6" stop-color="#c8371f"/><stop offset="1" stop-color="#7d1c0e"/></linearGradient></defs><rect width="600" height="600" fill="#fff"/><path d="M436 240Q540 230 520 330Q500 420 418 410" fill="none" stroke="#a52a18" stroke-width="34"/><path d="M140 170H440L410 520Q290 550 170 520Z" fill="url(#glaze)"/><ellipse cx="290" cy="170" rx="150" ry="34" fill="#5a2413"/></svg>',
}

const seconds = 3
/** The caption is visible, and a dissolve is halfway. */
const shownAt = 1.5
/** The caption is gone and the fade-out has hardly begun, so the frame can serve as a reference image. */
const plainAt = 2.6

/** The image is at full brightness, with its caption, and lightning strikes. */
const brightAt = 2.25

async function frameAt(film: string, at: number): Promise<Buffer> {
  const { stdout } = await run(
    'ffmpeg',
    [
      ...['-v', 'error', '-ss', String(at), '-i', film, '-frames:v', '1'],
      ...['-f', 'image2pipe', '-c:v', 'png', '-'],
    ],
    { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 },
  )
  return stdout
}

async function formFor(film: Film, filmPath: (name: string) => string): Promise<FormData> {
  const { prompt, size, watermark = true, referenceMode, characters = [] } = film
  const [width, height] = size
  const form = new FormData()
  form.set(
    'job',
    JSON.stringify({ model: 'local', prompt, seconds, width, height, watermark, referenceMode, characters }),
  )
  const append = (name: string, content: Buffer) =>
    form.append(name, new Blob([Uint8Array.from(content)]), name)
  const imageOf = async (name: string) => {
    const drawing = drawings[name]
    if (drawing === undefined) return await frameAt(filmPath(name), plainAt)
    return await sharp(Buffer.from(drawing)).png().toBuffer()
  }
  for (const name of film.references ?? []) append('reference', await imageOf(name))
  for (const name of characters) append('character', await imageOf(name))
  if (film.source !== undefined) append('source', await readFile(filmPath(film.source)))
  return form
}

async function make(film: Film, url: string, filmPath: (name: string) => string): Promise<void> {
  const job = `${url}/jobs/${film.name}`
  const answer = await fetch(job, { method: 'PUT', body: await formFor(film, filmPath) })
  if (answer.status !== 201) throw new Error(`${film.name}: ${await answer.text()}`)
  for (;;) {
    const { state, error } = (await (await fetch(job)).json()) as { state: string; error?: unknown }
    if (state === 'failed') throw new Error(`${film.name}: ${JSON.stringify(error)}`)
    if (state === 'done') break
    await sleep(100)
  }
  await writeFile(filmPath(film.name), Buffer.from(await (await fetch(`${job}/result`)).arrayBuffer()))
}

interface Sheet {
  file: string
  films: Film[]
  columns: number
  /** The largest size of a frame on the sheet, without its label. */
  frameSize: { width: number; height: number }
  gap: number
  fontSize: number
  /** The time of the frame within its film, in seconds. */
  frameAt: number
}

const smallSizes = { wide: [480, 270], upright: [270, 480], square: [360, 360] } as const

const sheets: Record<string, Sheet> = {
  everyday: {
    file: 'docs/everyday-prompts.png',
    films: everydayPrompts.map(({ prompt, shape }, index) => ({
      ...{
        name: `everyday-${index + 1}`,
        label: prompt,
        prompt,
        size: [...smallSizes[shape]],
        watermark: false,
      },
    })),
    ...{ columns: 6, frameSize: { width: 320, height: 270 }, gap: 10, fontSize: 13, frameAt: brightAt },
  },
  films: {
    ...{ file: 'docs/contact-sheet.png', films, columns: 4, frameSize: { width: 442, height: 308 }, gap: 18 },
    ...{ fontSize: 14, frameAt: shownAt },
  },
  'picture-book': {
    file: 'docs/picture-book.png',
    films: pictureBook.map(({ prompt }, index) => ({
      ...{ name: `page-${index + 1}`, label: prompt, prompt, size: [480, 270], watermark: false },
    })),
    ...{ columns: 5, frameSize: { width: 336, height: 189 }, gap: 10, fontSize: 14, frameAt: brightAt },
  },
}

async function sheetOf(sheet: Sheet, frames: Buffer[]): Promise<Buffer> {
  const { columns, frameSize, gap, fontSize } = sheet
  const cell = { width: frameSize.width + gap, height: frameSize.height + gap + fontSize * 2 }
  const rows = Math.ceil(frames.length / columns)
  const layers = await Promise.all(
    frames.map(async (frame, index) => {
      const left = (index % columns) * cell.width
      const top = Math.floor(index / columns) * cell.height
      const { data, info } = await sharp(frame)
        .resize({ ...frameSize, fit: 'inside' })
        .png()
        .toBuffer({ resolveWithObject: true })
      const film = sheet.films[index]!
      const label = film.label === film.prompt ? film.label : `${film.label} · ${film.size.join('×')}`
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${cell.width}" height="${fontSize * 2}"><text x="${cell.width / 2}" y="${fontSize * 1.4}" text-anchor="middle" font-family="Inter, sans-serif" font-size="${fontSize}" fill="#c9cfda">${label}</text></svg>`
      return [
        {
          input: data,
          left: left + Math.round((cell.width - info.width) / 2),
          top: top + Math.round(gap / 2 + (frameSize.height - info.height) / 2),
        },
        { input: Buffer.from(svg), left, top: top + frameSize.height + Math.round(gap / 2) },
      ]
    }),
  )
  const size = { width: columns * cell.width, height: rows * cell.height }
  const flat = await sharp({ create: { ...size, channels: 3, background: '#14161c' } })
    .composite(layers.flat())
    .png()
    .toBuffer()
  // A palette keeps the file small; smooth skies alone would take several megabytes.
  return await sharp(flat).png({ palette: true, colours: 256, dither: 0.8, effort: 10 }).toBuffer()
}

const requested = process.argv.slice(2)
const unknown = requested.find((name) => !(name in sheets))
if (unknown !== undefined) {
  throw new Error(
    `Unknown sheet "${unknown}". Use one of: ${Object.keys(sheets).join(', ')}, or no argument for all.`,
  )
}
const startedAt = performance.now()
const directory = await mkdtemp(path.join(tmpdir(), 'kinora-contact-sheet-'))
const filmPath = (name: string) => path.join(directory, `${name}.mp4`)
const provider = await startLocalProvider({
  host: '127.0.0.1',
  port: 0,
  directory: path.join(directory, 'jobs'),
  modelDirectory: path.join(directory, 'models'),
  ffmpegPath: 'ffmpeg',
  renders: 1,
  log: (event, fields) => {
    if (event === 'local.render_failed') console.error(event, fields)
  },
})
try {
  for (const [name, sheet] of Object.entries(sheets)) {
    if (requested.length > 0 && !requested.includes(name)) continue
    for (const [index, film] of sheet.films.entries()) {
      const from = performance.now()
      await make(film, provider.url, filmPath)
      const took = ((performance.now() - from) / 1000).toFixed(1)
      console.log(
        `${String(index + 1).padStart(2)}/${sheet.films.length}  ${took} s  ${film.name}: ${film.label}`,
      )
    }
    const frames = await Promise.all(sheet.films.map((film) => frameAt(filmPath(film.name), sheet.frameAt)))
    const image = await sheetOf(sheet, frames)
    await writeFile(path.join(import.meta.dirname, '..', sheet.file), image)
    const took = ((performance.now() - startedAt) / 1000).toFixed(0)
    console.log(`${sheet.file}, ${Math.round(image.length / 1024)} kB, after ${took} s`)
  }
} finally {
  await provider.close()
  await rm(directory, { recursive: true, force: true })
}
