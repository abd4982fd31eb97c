/**
 * The official `openai` package against `kinora dev`, with only the base URL and the key changed: the examples in the
 * package's own documentation, and every method, model, voice and size that it documents for speech, recordings and videos.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { rowOf, watchMethods } from '../../gateway/test/kit/openai-methods.ts'
import { reserveDevPorts } from '../../gateway/test/kit/reserve-ports.ts'
import { probe } from '../../gateway/test/kit/sample-video.ts'
import { linkRecognitionSets } from '../../local/test/kit/model-directory.ts'
import { checkedInRows, readCompatibility, sortRows } from '../../tools/compatibility.ts'

const run = promisify(execFile)
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
const resources = join(modules, 'openai/resources')
const documented = [
  'videos.d.ts',
  ...readdirSync(join(resources, 'audio'))
    .filter((name) => name.endsWith('.d.ts') && name !== 'index.d.ts')
    .map((name) => `audio/${name}`),
]

interface Example {
  /** `<resource>.<method>`, as it is called. */
  name: string
  code: string
}

/** The code blocks of the doc comments of a file, each with the method that the comment describes. */
const examplesIn = (file: string): Example[] => {
  const text = readFileSync(join(resources, file), 'utf8')
  return [...text.matchAll(/\/\*\*((?:(?!\*\/).)*?@example.*?)\*\/\s*\w+\(/gs)].flatMap(
    ([, comment = '']) => {
      const plain = comment.replaceAll(/^ *\* ?/gm, '')
      return [...plain.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => ({
        name: /client\.([\w.]+)\(/.exec(code)?.[1] ?? `${file} without a call`,
        code,
      }))
    },
  )
}

/** What to know about calls that work. */
const notes: Record<string, string> = {
  'videos.edit': 'with the `id` of one of your completed videos; an uploaded file is 400 `invalid_parameter`',
  'videos.create': '`input_reference` is a file or has `image_url`; `file_id` is 400 `invalid_parameter`',
  'audio.speech.create': 'also with `stream_format: "sse"`',
  'audio.transcriptions.create': 'also with `stream: true`; `response_format: "diarized_json"` is 400',
  'chat.completions.runTools': 'without functions: they have no effect and are named in `X-Ignored-Params`',
}

const provedBy = 'cli/test/openai-package.test.ts'

/** Examples that are not run, because they are rejected (gateway/test/operations/openai-scope.test.ts). */
const notRun = new Set(
  readCompatibility()
    .filter(({ library, result }) => library === 'openai-node' && result === 'rejected')
    .map(({ call }) => call),
)

let directory: string
let dev: ChildProcess
let client: OpenAI
let environment: Record<string, string | undefined>
const worked = new Set<string>()

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-openai-'))
  await symlink(modules, join(directory, 'node_modules'))
  const data = join(directory, 'data')
  const port = await reserveDevPorts(directory, data)
  const models = linkRecognitionSets(join(directory, 'models'))
  const outer = { PATH: process.env['PATH'], HOME: process.env['HOME'], MODEL_DIR: models }
  const args = ['dev', '--json', '--no-models', '--no-open', '--port', String(port), '--data', data]
  dev = spawn(process.execPath, [inject('command'), ...args], {
    env: outer,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  for await (const chunk of dev.stdout as unknown as AsyncIterable<Buffer>) {
    output += chunk.toString()
    if (output.includes('\n')) break
  }
  const { url, keys } = JSON.parse(output) as { url: string; keys: { payg: string } }
  // The package reads these itself.
  environment = { ...outer, OPENAI_BASE_URL: `${url}/openai/v1`, OPENAI_API_KEY: keys.payg }
  client = watchMethods(
    new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: keys.payg, timeout: 600_000 }),
    worked,
  )
})

afterAll(async () => {
  if (dev.exitCode === null) {
    dev.kill('SIGTERM')
    await once(dev, 'exit')
  }
  await rm(directory, { recursive: true, force: true })
})

const secondsOf = async (file: string): Promise<number> => {
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  return Number((await run('ffprobe', args)).stdout)
}

const sentence = 'The ships left the harbour at first light.'
const words = /ships|harbou?r|light/i

const say = async (voice: string, input: string, model = 'tts-1'): Promise<Buffer> =>
  Buffer.from(await (await client.audio.speech.create({ model, voice, input })).arrayBuffer())

let speech: Promise<Buffer> | undefined
/** The sentence, spoken once for all tests. */
const spoken = () => (speech ??= say('alloy', sentence))

describe('examples of the package', () => {
  const examples = documented.flatMap(examplesIn)
  /** Runs an example and returns the directory with a file for each of its results. */
  const runExample = async ({ name, code }: Example): Promise<string> => {
    const folder = await mkdtemp(join(directory, `${name}-`))
    for (const [, file = ''] of code.matchAll(/createReadStream\('([^']+)'\)/g)) {
      await writeFile(join(folder, file), await spoken())
    }
    const results = [...code.matchAll(/^(?:const|let) (\w+)/gm)].map(([, variable]) => variable)
    const lines = [
      "import fs from 'node:fs'",
      "import OpenAI from 'openai'",
      'const client = new OpenAI()',
      code,
      `for (const [name, value] of Object.entries({ ${results.join(', ')} })) {`,
      '  if (value instanceof Blob) fs.writeFileSync(name, Buffer.from(await value.arrayBuffer()))',
      '  else if (!(value instanceof Response)) fs.writeFileSync(name, JSON.stringify(value))',
      '}',
    ]
    await writeFile(join(folder, 'example.mjs'), lines.join('\n'))
    await run(process.execPath, ['example.mjs'], { cwd: folder, env: environment })
    return folder
  }

  const checks: Record<string, (folder: string) => Promise<void>> = {
    'audio.speech.create': async (folder) => {
      expect(await secondsOf(join(folder, 'content'))).toBeGreaterThan(0.2)
    },
    'audio.transcriptions.create': async (folder) => {
      const { text } = JSON.parse(await readFile(join(folder, 'transcription'), 'utf8')) as { text: string }
      expect(text).toMatch(words)
    },
  }

  test('every example is run, or has a reason why not', () => {
    const names = examples.map(({ name }) => name).filter((name) => !notRun.has(name))
    expect(new Set(names)).toEqual(new Set(Object.keys(checks)))
  })

  const runnable = examples.filter(({ name }) => !notRun.has(name))
  test.each(runnable)('$name', async (example) => {
    const folder = await runExample(example)
    await checks[example.name]?.(folder)
  })
})

/** The names in the comment of a parameter, such as "`alloy`, `ash`" or "allowed values: 4, 8, 12". */
const namesIn = (file: string, type: RegExp): string[] => {
  const found = type.exec(readFileSync(join(resources, file), 'utf8'))?.[1] ?? ''
  return [...new Set([...found.matchAll(/'([^']+)'/g)].map(([, name = '']) => name))]
}

describe('documented names', () => {
  test('every model has an entry, except one that tells speakers apart', async () => {
    const names = [
      ...namesIn('audio/speech.d.ts', /type SpeechModel = ([^;]+);/),
      ...namesIn('audio/audio.d.ts', /type AudioModel = ([^;]+);/),
      ...namesIn('videos.d.ts', /type VideoModel = ([^;]+);/),
      ...['gpt-4o-audio-preview', 'gpt-audio'],
    ]
    expect(names.length).toBeGreaterThan(12)
    const missing: string[] = []
    for (const name of names) {
      await client.models.retrieve(name).catch((error: unknown) => {
        expect(error).toMatchObject({ status: 404, code: 'model_not_found' })
        missing.push(name)
      })
    }
    expect(missing).toEqual(['gpt-4o-transcribe-diarize'])
  })

  // That each voice has a sound of its own is tested in local/src/speech.
  test('every voice has a price, and one that only the package documents speaks', async () => {
    const names = namesIn('audio/speech.d.ts', /voice: string \| ([^;]+);/)
    expect(names.length).toBeGreaterThan(12)
    for (const voice of names) {
      const order = { model: 'tts-1', voice, input: 'Yes.' }
      const quote = await client.audio.speech.create(order, { query: { dry_run: 'true' } })
      expect(await quote.json(), voice).toMatchObject({ object: 'quote', fits: true })
    }
    const file = join(directory, 'verse.mp3')
    await writeFile(file, await say('verse', 'Yes.'))
    expect(await secondsOf(file)).toBeGreaterThan(0.1)
    const asObject = { model: 'gpt-4o-mini-tts', input: 'Yes.', voice: { id: 'coral' } }
    expect((await client.audio.speech.create(asObject)).status).toBe(200)
  })

  test('every size and duration has a price', async () => {
    const sizes = namesIn('videos.d.ts', /type VideoSize = ([^;]+);/) as OpenAI.VideoSize[]
    const durations = namesIn('videos.d.ts', /type VideoSeconds = ([^;]+);/) as OpenAI.VideoSeconds[]
    expect([sizes.length, durations.length]).toEqual([4, 3])
    for (const model of ['sora-2', 'sora-2-pro']) {
      for (const size of sizes) {
        for (const seconds of durations) {
          const order = { model, size, seconds, prompt: 'A whale' }
          const quote = await client.videos.create(order, { query: { dry_run: 'true' } })
          expect(quote).toMatchObject({ object: 'quote', fits: true })
        }
      }
    }
  })
})

describe('methods', () => {
  const completed = async (id: string): Promise<OpenAI.Video> => {
    let video = await client.videos.retrieve(id)
    const read = async () => {
      video = await client.videos.retrieve(id)
      return video.status
    }
    await expect.poll(read, { interval: 500 }).toMatch(/^(completed|failed)$/)
    expect(video).toMatchObject({ status: 'completed', error: null })
    return video
  }

  test('a video is created from a prompt alone, read, downloaded, remixed, edited, listed and deleted', async () => {
    const { id } = await client.videos.create({ prompt: 'A whale swims through a calm sea at sunset' })
    expect(await completed(id)).toMatchObject({ seconds: '4', size: '720x1280' })
    const file = join(directory, 'video.mp4')
    const content = await client.videos.downloadContent(id)
    await writeFile(file, Buffer.from(await content.arrayBuffer()))
    const { seconds, ...shape } = await probe(file)
    expect(shape).toEqual({ codec: 'h264', soundCodec: 'aac', width: 720, height: 1280 })
    expect(seconds).toBeCloseTo(4, 1)
    for (const variant of ['thumbnail', 'spritesheet'] as const) {
      const image = await client.videos.downloadContent(id, { variant })
      expect(image.headers.get('content-type')).toMatch(/^image\//)
    }
    const remix = await client.videos.remix(id, { prompt: 'The same at night' })
    const edit = await client.videos.edit({ prompt: 'The same in the rain', video: { id } })
    // gateway/test/journeys/remix-and-characters.test.ts shows that such a video is completed.
    for (const made of [remix, edit]) {
      expect(made).toMatchObject({ status: 'queued', remixed_from_video_id: id })
      await client.post(`/videos/${made.id}/cancel`)
    }
    const listed = []
    for await (const video of client.videos.list({ limit: 2 })) listed.push(video.id)
    expect(listed).toEqual([edit.id, remix.id, id])
    expect(await client.videos.delete(remix.id)).toMatchObject({ id: remix.id, deleted: true })
  })

  test('a video starts from an image, given as a file or as a data URL', async () => {
    const file = join(directory, 'image.png')
    await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'color=teal:s=720x1280', '-frames:v', '1', file])
    const image = await readFile(file)
    const uploaded = await toFile(image, 'image.png', { type: 'image/png' })
    const url = `data:image/png;base64,${image.toString('base64')}`
    for (const reference of [uploaded, { image_url: url }]) {
      const order = { prompt: 'A wave', input_reference: reference }
      const quote = await client.videos.create(order, { query: { dry_run: 'true' } })
      expect(quote).toMatchObject({ object: 'quote', fits: true })
    }
  })

  test('speech is streamed as events, transcribed as a stream and with words, and translated', async () => {
    const events = await client.audio.speech.create({
      ...{ model: 'gpt-4o-mini-tts', voice: 'sage', input: 'Yes.', stream_format: 'sse' },
      ...{ instructions: 'Whisper.', response_format: 'wav', speed: 1.5 },
    })
    expect(await events.text()).toMatch(/speech\.audio\.delta[^]*speech\.audio\.done/)

    const file = async () => toFile(await spoken(), 'speech.mp3')
    let streamed = ''
    const order = { model: 'gpt-4o-mini-transcribe', file: await file(), stream: true } as const
    for await (const event of await client.audio.transcriptions.create(order)) {
      if (event.type === 'transcript.text.delta') streamed += event.delta
    }
    expect(streamed).toMatch(words)
    const timed = { model: 'whisper-1', file: await file() } as const
    const verbose = await client.audio.transcriptions.create({
      ...{ ...timed, response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] },
    })
    expect(verbose.words?.length).toBeGreaterThan(3)
    expect((await client.audio.translations.create(timed)).text).toMatch(words)
  })

  test('a spoken question gets a spoken answer', async () => {
    const { choices } = await client.chat.completions.create({
      model: 'gpt-audio',
      modalities: ['text', 'audio'],
      audio: { voice: 'marin', format: 'wav' },
      messages: [{ role: 'user', content: 'Is a golden retriever a good family dog?' }],
    })
    const file = join(directory, 'answer.wav')
    await writeFile(file, Buffer.from(choices[0]?.message.audio?.data ?? '', 'base64'))
    expect(await secondsOf(file)).toBeGreaterThan(0.5)
  })

  test('a text is answered whole, as a stream, parsed, and with functions that have no effect', async () => {
    const { completions } = client.chat
    const ask = {
      model: 'gpt-audio',
      messages: [{ role: 'user' as const, content: 'Is a dog a good pet?' }],
    }
    for (const answered of [
      await completions.stream(ask).finalChatCompletion(),
      await completions.parse(ask),
    ]) {
      expect(answered.choices[0]?.message.content).toMatch(/\w/)
    }
    const tool = {
      name: 'now',
      description: 'The time.',
      parameters: {},
      function: () => 'noon',
      parse: String,
    }
    const runner = completions.runTools({ ...ask, tools: [{ type: 'function', function: tool }] })
    expect(await runner.finalContent()).toMatch(/\w/)
  })

  test('the models are listed', async () => {
    const names: string[] = []
    for await (const { id } of client.models.list()) names.push(id)
    expect(names).toEqual(expect.arrayContaining(['sora-2', 'tts-1', 'whisper-1', 'gpt-audio']))
  })

  test('docs/compatibility.json has exactly the methods that worked here', () => {
    const found = [...worked].map((call) => rowOf(provedBy, call, 'works', notes[call]))
    expect(sortRows(found)).toEqual(sortRows(checkedInRows(provedBy, found)))
  })
})
