import { Type } from 'typebox'

import { oftenPublicDocument } from '../kit/access/access-calls.ts'
import { notAcceptedStatuses } from '../kit/not-accepted.ts'
import { protocol } from '../kit/protocol.ts'
import { openAiDialogue } from './openai-dialogue.ts'
import { openAiSpeech } from './openai-speech.ts'
import { openAiTranscription } from './openai-transcription.ts'
import { openAiVideo } from './openai-video.ts'

export const openAiAudio = (settings: {
  baseUrl: string
  apiKey: string | undefined
  traceparent?: boolean | undefined
  isOurs: boolean
}) => ({
  speech: openAiSpeech(settings),
  transcription: openAiTranscription(settings),
  dialogue: openAiDialogue(settings),
})

/** The OpenAI protocol for video, text and audio, with its common variants. */
export const openAi = protocol({
  about: {
    title: 'OpenAI',
    description: 'OpenAI, and services with the same API for videos, speech, transcription or chat.',
    capabilities: ['video', 'speech', 'transcription', 'chat'],
    needsKey: false,
    examples: { baseUrl: 'https://api.openai.com/v1' },
  },
  settings: Type.Object({
    idempotentSubmits: Type.Boolean({
      default: false,
      description: 'Whether it returns the existing job for a repeated Idempotency-Key.',
    }),
    lookup: Type.Boolean({
      default: false,
      description: 'Whether it stores our task id as client_reference and can list by it.',
    }),
    // The vendor's error guide says to repeat a request after a 500, and its client libraries do so by themselves. 502 and
    // 504 come from proxies, which do not know whether the request was executed.
    notAcceptedStatuses: notAcceptedStatuses([500]),
    results: Type.Union([Type.Literal('bytes'), Type.Literal('link')], {
      default: 'bytes',
      description:
        'How a finished video is downloaded: `bytes` from the content path of the job, or `link` from the URL in its status.',
    }),
  }),
  connect: ({ baseUrl, apiKey, connections, traceparent, resultOrigins }, own) => ({
    video: openAiVideo({ baseUrl, apiKey: apiKey ?? '', connections, traceparent, resultOrigins, ...own }),
    ...openAiAudio({ baseUrl, apiKey, traceparent, isOurs: false }),
    // The list of models is free, and the one call that every service with this protocol has.
    access: oftenPublicDocument({ baseUrl: baseUrl.replace(/\/v1\/*$/, ''), apiKey }, '/v1/models'),
  }),
})
