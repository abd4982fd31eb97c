/** The functions of the AI SDK with the models of `@kinora/ai-sdk`. */
import assert from 'node:assert/strict'

import { createOpenAI } from '@ai-sdk/openai'
import {
  APICallError,
  experimental_generateVideo as generateVideo,
  experimental_getVideoStatus as getVideoStatus,
  generateSpeech,
  generateText,
  experimental_startVideo as startVideo,
  experimental_streamSpeech as streamSpeech,
  transcribe,
} from 'ai'

import { createKinora, type KinoraProviderSettings } from '../../ai-sdk/src/kinora.ts'
import type { ClientLibrary } from './behaviour.ts'
import { installedVersion } from './installed-version.ts'

const videoModel = 'vidB-2'
const speechModel = 'chat-4o-mini-tts-2025-12-15'
const transcriptionModel = 'asr-1'
const chatModel = 'chat-4o-audio-preview'

const order = { duration: 4, resolution: '480x480' } as const
const poll = { intervalMs: 200 }

const square =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const providerAt = (baseURL: string, apiKey: string, more: KinoraProviderSettings = {}) =>
  createKinora({ baseURL, apiKey, ...more })

/** Passes requests on, but the first response to a create is lost: instead there is one of a proxy. */
const losingFirstCreate = () => {
  let isLost = false
  let creates = 0
  const send: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (init?.method !== 'POST') return response
    creates += 1
    if (isLost) return response
    isLost = true
    await response.arrayBuffer()
    return new Response('', { status: 503, headers: { 'retry-after-ms': '1' } })
  }
  return { fetch: send, creates: () => creates }
}

const getJson = async (baseUrl: string, key: string, path: string) => {
  const response = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(response.status, 200)
  return (await response.json()) as { data: Record<string, unknown>[] }
}

/** The tasks that this run of a behaviour has created. */
const tasksOf = async (baseUrl: string, key: string, run: string) =>
  (await getJson(baseUrl, key, `/v1/videos?metadata[run]=${run}`)).data

const newRun = () => crypto.randomUUID()

const failureOf = async (work: PromiseLike<unknown>): Promise<APICallError> => {
  const error: unknown = await Promise.resolve(work).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert(APICallError.isInstance(error), `not an APICallError: ${String(error)}`)
  return error
}

const codeOf = ({ data }: APICallError) => (data as { error: { code: string } }).error.code

const sentence = 'The ships left the harbour at first light.'

const say = async (baseUrl: string, key: string): Promise<Uint8Array> => {
  const model = providerAt(baseUrl, key).speech(speechModel)
  return (await generateSpeech({ model, text: sentence, voice: 'alloy' })).audio.uint8Array
}

export const aiSdk: ClientLibrary = {
  library: 'ai-sdk-kinora',
  version: installedVersion('ai'),
  behaviours: [
    {
      name: 'a video is made from a text',
      calls: ['experimental_generateVideo'],
      result: 'works',
      run: async (baseUrl, key) => {
        const run = newRun()
        const { video, warnings, providerMetadata } = await generateVideo({
          model: providerAt(baseUrl, key).video(videoModel),
          prompt: 'A paper boat on a pond',
          ...{ ...order, poll, fps: 30 },
          providerOptions: { kinora: { metadata: { run } } },
        })
        assert.equal(video.mediaType, 'video/mp4')
        assert(video.uint8Array.length > 500)
        assert.deepEqual(
          warnings.map((warning) => 'feature' in warning && warning.feature),
          ['fps'],
        )
        const [task, ...others] = await tasksOf(baseUrl, key, run)
        assert.equal(providerMetadata['kinora']?.['id'], task?.['id'])
        assert.equal(others.length, 0)
      },
    },
    {
      name: 'a video is made from an image, with the size of an aspect ratio',
      calls: ['experimental_generateVideo'],
      result: 'works',
      run: async (baseUrl, key) => {
        const run = newRun()
        const { video } = await generateVideo({
          model: providerAt(baseUrl, key).video(videoModel),
          prompt: { text: 'It starts to rain', image: square },
          ...{ duration: 4, aspectRatio: '16:9', poll },
          providerOptions: { kinora: { metadata: { run } } },
        })
        assert(video.uint8Array.length > 500)
        const [task] = await tasksOf(baseUrl, key, run)
        assert.equal(task?.['size'], '1280x720')
      },
    },
    {
      name: 'a task outlives the process that started it, and its result is a link',
      calls: ['experimental_startVideo', 'experimental_getVideoStatus'],
      result: 'works',
      run: async (baseUrl, key) => {
        const started = await startVideo({
          model: providerAt(baseUrl, key).video(videoModel),
          prompt: 'A lighthouse at night',
          ...order,
        })
        const operation = JSON.parse(JSON.stringify(started.operation)) as { id: string }
        const model = providerAt(baseUrl, key, { videoResult: 'url' }).video(videoModel)
        for (;;) {
          const status = await getVideoStatus(model, { operation })
          assert.equal(status.providerMetadata?.['kinora']?.['id'], operation.id)
          if (status.status === 'pending') {
            await new Promise((resolve) => {
              setTimeout(resolve, poll.intervalMs)
            })
            continue
          }
          assert(status.status === 'completed')
          const [video] = status.videos
          assert(video?.type === 'url')
          assert.match(video.url, /^https?:/)
          break
        }
      },
    },
    {
      name: 'a video whose response was lost is created and charged once',
      calls: ['experimental_startVideo'],
      result: 'works',
      run: async (baseUrl, key) => {
        const run = newRun()
        const { fetch: send, creates } = losingFirstCreate()
        const { operation } = await startVideo({
          model: providerAt(baseUrl, key, { fetch: send }).video(videoModel),
          prompt: 'A kite',
          ...order,
          providerOptions: { kinora: { metadata: { run } } },
        })
        assert.equal(creates(), 2)
        const tasks = await tasksOf(baseUrl, key, run)
        assert.deepEqual(
          tasks.map(({ id }) => ({ id })),
          [operation],
        )
      },
    },
    {
      name: 'what a model cannot make is rejected before it costs anything',
      calls: ['experimental_startVideo'],
      result: 'works',
      run: async (baseUrl, key) => {
        const model = providerAt(baseUrl, key).video(videoModel)
        await assert.rejects(startVideo({ model, prompt: 'A kite', aspectRatio: '3:1' }), /aspect ratio 3:1/)
        const tooLong = await failureOf(startVideo({ model, prompt: 'A kite', duration: 999 }))
        assert.deepEqual([tooLong.statusCode, tooLong.isRetryable], [400, false])
        const providerOptions = { kinora: { watermrak: false } }
        await assert.rejects(startVideo({ model, prompt: 'A kite', providerOptions }), /watermrak/)
      },
    },
    {
      name: 'speech is made whole, in the format of the call',
      calls: ['generateSpeech'],
      result: 'works',
      run: async (baseUrl, key) => {
        const { audio, warnings } = await generateSpeech({
          model: providerAt(baseUrl, key).speech(speechModel),
          ...{ text: 'Yes.', outputFormat: 'wav', language: 'en' },
        })
        assert.equal(new TextDecoder('latin1').decode(audio.uint8Array.subarray(0, 4)), 'RIFF')
        assert.deepEqual(
          warnings.map((warning) => 'feature' in warning && warning.feature),
          ['language'],
        )
      },
    },
    {
      name: 'speech whose response was lost is charged once',
      calls: ['generateSpeech'],
      result: 'works',
      run: async (baseUrl, key) => {
        const { fetch: send, creates } = losingFirstCreate()
        const { responses } = await generateSpeech({
          model: providerAt(baseUrl, key, { fetch: send }).speech(speechModel),
          ...{ text: 'No.', voice: 'alloy' },
        })
        assert.equal(creates(), 2)
        assert.equal(responses[0]?.headers?.['idempotent-replayed'], 'true')
      },
    },
    {
      name: 'speech is streamed while it is made',
      calls: ['experimental_streamSpeech'],
      result: 'works',
      run: async (baseUrl, key) => {
        const result = streamSpeech({
          model: providerAt(baseUrl, key).speech(speechModel),
          ...{ text: sentence, voice: 'alloy', outputFormat: { type: 'audio/pcm', rate: 24_000 } },
        })
        let sizeBytes = 0
        for await (const chunk of result.audioStream) sizeBytes += chunk.length
        assert(sizeBytes > 500)
      },
    },
    {
      name: 'a recording is transcribed with the times of its words',
      calls: ['transcribe'],
      result: 'works',
      run: async (baseUrl, key) => {
        const { text, segments, words, durationInSeconds } = await transcribe({
          model: providerAt(baseUrl, key).transcription(transcriptionModel),
          audio: await say(baseUrl, key),
          timestampGranularities: ['word', 'segment'],
        })
        assert(text.length > 0)
        assert(segments.length > 0)
        assert(words !== undefined && words.length > 0)
        assert((durationInSeconds ?? 0) > 0.2)
      },
    },
    {
      name: 'a recording is translated',
      calls: ['transcribe'],
      result: 'works',
      run: async (baseUrl, key) => {
        const { text } = await transcribe({
          model: providerAt(baseUrl, key).transcription(transcriptionModel),
          audio: await say(baseUrl, key),
          providerOptions: { kinora: { task: 'translate' } },
        })
        assert(text.length > 0)
      },
    },
    {
      name: 'errors have a code and are not retried in vain',
      calls: ['generateSpeech', 'transcribe'],
      result: 'works',
      run: async (baseUrl, key) => {
        const provider = providerAt(baseUrl, key)
        const unknown = await failureOf(generateSpeech({ model: provider.speech('nothing'), text: 'Yes.' }))
        assert.deepEqual([codeOf(unknown), unknown.isRetryable], ['model_not_found', false])
        const model = provider.transcription(transcriptionModel)
        const unreadable = await failureOf(transcribe({ model, audio: new Uint8Array(100) }))
        assert.deepEqual([codeOf(unreadable), unreadable.isRetryable], ['invalid_file_format', false])
        const stranger = providerAt(baseUrl, 'sk-nobody').speech(speechModel)
        const denied = await failureOf(generateSpeech({ model: stranger, text: 'Yes.' }))
        assert.deepEqual([codeOf(denied), denied.isRetryable], ['invalid_api_key', false])
      },
    },
  ],
}

/** The SDK's own provider of OpenAI, with only the base URL changed. */
export const aiSdkOpenAi: ClientLibrary = {
  library: 'ai-sdk-openai',
  version: installedVersion('ai'),
  behaviours: [
    {
      name: 'the default model calls an operation that does not exist',
      calls: ["generateText with openai('…')"],
      result: 'rejected',
      note: "It calls `POST /responses`. Use `openai.chat('…')`.",
      run: async (baseUrl, key) => {
        const openai = createOpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: key })
        const error = await failureOf(generateText({ model: openai(chatModel), prompt: 'Hello' }))
        assert.deepEqual([error.statusCode, error.isRetryable], [404, false])
        assert.match(error.message, /Responses API/)
      },
    },
    {
      name: 'a question is answered',
      calls: ["generateText with openai.chat('…')"],
      result: 'works',
      run: async (baseUrl, key) => {
        const openai = createOpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: key })
        const { text } = await generateText({ model: openai.chat(chatModel), prompt: 'Is water wet?' })
        assert(text.length > 0)
      },
    },
    {
      name: 'speech is made and transcribed',
      calls: ["generateSpeech with openai.speech('…')", "transcribe with openai.transcription('…')"],
      result: 'works',
      run: async (baseUrl, key) => {
        const openai = createOpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: key })
        const { audio } = await generateSpeech({
          model: openai.speech(speechModel),
          ...{ text: sentence, voice: 'alloy' },
        })
        const { text } = await transcribe({
          model: openai.transcription(transcriptionModel),
          audio: audio.uint8Array,
        })
        assert(text.length > 0)
      },
    },
  ],
}
