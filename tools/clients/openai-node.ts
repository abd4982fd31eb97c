/** What the `openai` package for Node does with a service, with only the base URL and the key changed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import OpenAI, { toFile } from 'openai'

import { watchMethods } from '../../gateway/test/kit/openai-methods.ts'
import { probe } from '../../gateway/test/kit/sample-video.ts'
import type { Behaviour } from './behaviour.ts'

const run = promisify(execFile)

/** The methods that were called with success. */
export const workedMethods = new Set<string>()

export const openOpenAi = (baseUrl: string, apiKey: string): OpenAI =>
  watchMethods(new OpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey, timeout: 600_000 }), workedMethods)

export const sentence = 'The ships left the harbour at first light.'
export const wordsOfSentence = /ships|harbou?r|light/i

export const say = async (client: OpenAI, voice: string, input: string, model = 'tts-1'): Promise<Buffer> =>
  Buffer.from(await (await client.audio.speech.create({ model, voice, input })).arrayBuffer())

export const readSeconds = async (file: string): Promise<number> => {
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  return Number((await run('ffprobe', args)).stdout)
}

const inDirectory = async (work: (directory: string) => Promise<void>) => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-openai-node-'))
  try {
    await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const complete = async (client: OpenAI, id: string): Promise<OpenAI.Video> => {
  let video = await client.videos.retrieve(id)
  while (video.status === 'queued' || video.status === 'in_progress') {
    await sleep(500)
    video = await client.videos.retrieve(id)
  }
  assert.deepEqual([video.status, video.error], ['completed', null])
  return video
}

export const openAiNodeBehaviours: Behaviour[] = [
  {
    name: 'a video is created from a prompt alone, read, downloaded, remixed, edited, listed and deleted',
    run: (baseUrl, key) =>
      inDirectory(async (directory) => {
        const client = openOpenAi(baseUrl, key)
        const { id } = await client.videos.create({ prompt: 'A whale swims through a calm sea at sunset' })
        const { seconds: ordered, size } = await complete(client, id)
        assert.deepEqual([ordered, size], ['4', '720x1280'])
        const file = join(directory, 'video.mp4')
        const content = await client.videos.downloadContent(id)
        await writeFile(file, Buffer.from(await content.arrayBuffer()))
        const { seconds, ...shape } = await probe(file)
        assert.deepEqual(shape, { codec: 'h264', soundCodec: 'aac', width: 720, height: 1280 })
        assert(Math.abs(seconds - 4) < 0.05, `the video has ${seconds} s`)
        for (const variant of ['thumbnail', 'spritesheet'] as const) {
          const image = await client.videos.downloadContent(id, { variant })
          assert.match(image.headers.get('content-type') ?? '', /^image\//)
        }
        const remix = await client.videos.remix(id, { prompt: 'The same at night' })
        const edit = await client.videos.edit({ prompt: 'The same in the rain', video: { id } })
        // gateway/test/journeys/remix-and-characters.test.ts shows that such a video is completed.
        for (const { id: made, status, remixed_from_video_id: source } of [remix, edit]) {
          assert.deepEqual([status, source], ['queued', id])
          await client.post(`/videos/${made}/cancel`)
        }
        const listed: string[] = []
        for await (const video of client.videos.list({ limit: 2 })) listed.push(video.id)
        assert.deepEqual(listed.slice(0, 3), [edit.id, remix.id, id])
        const { id: deletedId, deleted } = await client.videos.delete(remix.id)
        assert.deepEqual([deletedId, deleted], [remix.id, true])
      }),
  },
  {
    name: 'a video starts from an image, given as a file or as a data URL',
    run: (baseUrl, key) =>
      inDirectory(async (directory) => {
        const client = openOpenAi(baseUrl, key)
        const file = join(directory, 'image.png')
        const input = ['-f', 'lavfi', '-i', 'color=teal:s=720x1280', '-frames:v', '1', file]
        await run('ffmpeg', ['-v', 'error', ...input])
        const image = await readFile(file)
        const uploaded = await toFile(image, 'image.png', { type: 'image/png' })
        const url = `data:image/png;base64,${image.toString('base64')}`
        for (const reference of [uploaded, { image_url: url }]) {
          const order = { prompt: 'A wave', input_reference: reference }
          const quote: unknown = await client.videos.create(order, { query: { dry_run: 'true' } })
          assert.partialDeepStrictEqual(quote, { object: 'quote', fits: true })
        }
      }),
  },
  {
    name: 'speech is streamed as events, transcribed as a stream and with words, and translated',
    run: async (baseUrl, key) => {
      const client = openOpenAi(baseUrl, key)
      const events = await client.audio.speech.create({
        ...{ model: 'gpt-4o-mini-tts', voice: 'sage', input: 'Yes.', stream_format: 'sse' },
        ...{ instructions: 'Whisper.', response_format: 'wav', speed: 1.5 },
      })
      assert.match(await events.text(), /speech\.audio\.delta[^]*speech\.audio\.done/)

      const spoken = await say(client, 'alloy', sentence)
      const file = async () => toFile(spoken, 'speech.mp3')
      let streamed = ''
      const order = { model: 'gpt-4o-mini-transcribe', file: await file(), stream: true } as const
      for await (const event of await client.audio.transcriptions.create(order)) {
        if (event.type === 'transcript.text.delta') streamed += event.delta
      }
      assert.match(streamed, wordsOfSentence)
      const timed = { model: 'whisper-1', file: await file() } as const
      const verbose = await client.audio.transcriptions.create({
        ...{ ...timed, response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] },
      })
      assert((verbose.words?.length ?? 0) > 3)
      assert.match((await client.audio.translations.create(timed)).text, wordsOfSentence)
    },
  },
  {
    name: 'a spoken question gets a spoken answer',
    run: (baseUrl, key) =>
      inDirectory(async (directory) => {
        const { choices } = await openOpenAi(baseUrl, key).chat.completions.create({
          model: 'gpt-audio',
          modalities: ['text', 'audio'],
          audio: { voice: 'marin', format: 'wav' },
          messages: [{ role: 'user', content: 'Is a golden retriever a good family dog?' }],
        })
        const file = join(directory, 'answer.wav')
        await writeFile(file, Buffer.from(choices[0]?.message.audio?.data ?? '', 'base64'))
        assert((await readSeconds(file)) > 0.5)
      }),
  },
  {
    name: 'a text is answered whole, as a stream, parsed, and with functions that have no effect',
    run: async (baseUrl, key) => {
      const { completions } = openOpenAi(baseUrl, key).chat
      const messages = [{ role: 'user' as const, content: 'Is a dog a good pet?' }]
      const ask = { model: 'gpt-audio', messages }
      for (const answered of [
        await completions.stream(ask).finalChatCompletion(),
        await completions.parse(ask),
      ]) {
        assert.match(answered.choices[0]?.message.content ?? '', /\w/)
      }
      const tool = {
        ...{ name: 'now', description: 'The time.', parameters: {} },
        ...{ function: () => 'noon', parse: String },
      }
      const runner = completions.runTools({ ...ask, tools: [{ type: 'function', function: tool }] })
      assert.match((await runner.finalContent()) ?? '', /\w/)
    },
  },
  {
    name: 'the models are listed',
    run: async (baseUrl, key) => {
      const names = new Set<string>()
      for await (const { id } of openOpenAi(baseUrl, key).models.list()) names.add(id)
      const missing = ['sora-2', 'tts-1', 'whisper-1', 'gpt-audio'].filter((name) => !names.has(name))
      assert.deepEqual(missing, [])
    },
  },
]
