// Generated from docs/ai-sdk.md by `npm run generate`. Do not edit.
import { createKinora } from '@kinora/ai-sdk'
import { experimental_generateVideo as generateVideo } from 'ai'
import { experimental_startVideo as startVideo, experimental_getVideoStatus as getVideoStatus } from 'ai'
import { generateSpeech, experimental_streamSpeech as streamSpeech } from 'ai'
import { readFile } from 'node:fs/promises'
import { transcribe } from 'ai'

declare const kinora: ReturnType<typeof import('@kinora/ai-sdk').createKinora>
declare const play: (bytes: Uint8Array) => void

export const example1 = async () => {
  const kinora = createKinora({ baseURL: 'https://media.example.com', apiKey: 'sk-…' })
}

export const example2 = async () => {
  const { video, warnings, providerMetadata } = await generateVideo({
    model: kinora.video('vidB-2'),
    prompt: 'A boat sails away',
    duration: 10,
    aspectRatio: '16:9',
    providerOptions: { kinora: { metadata: { team: 'red' }, watermark: false } },
    poll: { intervalMs: 2000, timeoutMs: 1_800_000 },
  })
}

export const example3 = async () => {
  const model = kinora.video('vidB-2')
  const { operation } = await startVideo({ model, prompt: 'A kite', duration: 4 })
  // Save the operation, which is JSON.
  const status = await getVideoStatus(model, { operation })
  if (status.status === 'completed') console.log(status.videos)
}

export const example4 = async () => {
  const model = kinora.speech('chat-4o-mini-tts-2025-12-15')
  const { audio } = await generateSpeech({ model, text: 'Hello.', voice: 'alloy', outputFormat: 'wav' })

  const { audioStream } = streamSpeech({ model, text: 'Hello.', outputFormat: { type: 'audio/pcm', rate: 24_000 } })
  for await (const bytes of audioStream) play(bytes)
}

export const example5 = async () => {
  const { text, segments, words, language } = await transcribe({
    model: kinora.transcription('asr-1'),
    audio: await readFile('meeting.mp3'),
    timestampGranularities: ['word', 'segment'],
    providerOptions: { kinora: { prompt: 'Kinora, Restate' } },
  })
}
