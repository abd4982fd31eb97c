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

import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { rowOf } from '../../gateway/test/kit/openai-methods.ts'
import { reserveDevPorts } from '../../gateway/test/kit/reserve-ports.ts'
import { linkRecognitionSets } from '../../local/test/kit/model-directory.ts'
import {
  openAiNodeBehaviours,
  openOpenAi,
  readSeconds,
  say,
  sentence,
  wordsOfSentence,
  workedMethods,
} from '../../tools/clients/openai-node.ts'
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
let serviceUrl: string
let apiKey: string
let environment: Record<string, string | undefined>

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
  serviceUrl = url
  apiKey = keys.payg
  client = openOpenAi(url, apiKey)
})

afterAll(async () => {
  if (dev.exitCode === null) {
    dev.kill('SIGTERM')
    await once(dev, 'exit')
  }
  await rm(directory, { recursive: true, force: true })
})

let speech: Promise<Buffer> | undefined
/** The sentence, spoken once for all tests. */
const spoken = () => (speech ??= say(client, 'alloy', sentence))

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
      expect(await readSeconds(join(folder, 'content'))).toBeGreaterThan(0.2)
    },
    'audio.transcriptions.create': async (folder) => {
      const { text } = JSON.parse(await readFile(join(folder, 'transcription'), 'utf8')) as { text: string }
      expect(text).toMatch(wordsOfSentence)
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
    await writeFile(file, await say(client, 'verse', 'Yes.'))
    expect(await readSeconds(file)).toBeGreaterThan(0.1)
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
  test.each(openAiNodeBehaviours)('$name', (behaviour) => behaviour.run(serviceUrl, apiKey))

  test('docs/compatibility.json has exactly the methods that worked here', () => {
    const found = [...workedMethods].map((call) => rowOf(provedBy, call, 'works', notes[call]))
    expect(sortRows(found)).toEqual(sortRows(checkedInRows(provedBy, found)))
  })
})
