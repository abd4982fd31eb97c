/** `/v1/audio`, except transcription tasks. */
import { Type, type Static, type TSchema } from 'typebox'

import { ModelId, Nullable, ObjectType, ReadByEndpoint } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { RequestMetadata } from '../metadata.ts'
import {
  errorsOfAudioFiles,
  errorsOfBodies,
  errorsOfModels,
  errorsOfProviders,
  errorsOfSpending,
  type Operation,
} from '../operation.ts'

/** Maximum size of an uploaded recording. Transcription tasks accept larger files. */
export const audioBytesMax = 26_214_400
export const speechCharactersMax = 4096

export const transcriptFormats = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const
export type TranscriptFormat = (typeof transcriptFormats)[number]

export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export type SpeechFormat = (typeof speechFormats)[number]

/** Form fields that transcriptions, translations and transcription tasks share. */
export const recordingFields = {
  file: ReadByEndpoint({
    type: 'string',
    format: 'binary',
    description:
      'The audio file: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm. The format is detected from the content.',
  }),
  model: ModelId,
  language: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$',
      'x-demand': 'a language code such as en or pt-BR',
      description: 'The spoken language, as an ISO 639-1 code. Detected if omitted.',
    }),
  ),
  prompt: Type.Optional(
    Type.String({
      maxLength: 10_000,
      description: 'Context for the model, such as the spelling of names in the recording.',
    }),
  ),
  temperature: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0,
      description: 'Sampling temperature. Higher values make the output more random.',
    }),
  ),
  metadata: Type.Optional(RequestMetadata),
}

const responseFormat = Type.Optional(
  Type.String({ enum: [...transcriptFormats], default: 'json', description: 'Format of the response.' }),
)

/** The form of `POST /v1/audio/transcriptions`. */
export const TranscriptionForm = Type.Object({
  ...recordingFields,
  response_format: responseFormat,
  'timestamp_granularities[]': Type.Optional(
    ReadByEndpoint({
      type: 'array',
      items: { type: 'string', enum: ['word', 'segment'] },
      description:
        'Granularity of the timestamps in `verbose_json`. `word` adds the start and end of every word.',
    }),
  ),
  stream: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether to stream the text as server-sent events while it is recognized.',
    }),
  ),
})

/** The form of `POST /v1/audio/translations`. */
export const TranslationForm = Type.Object({
  file: recordingFields.file,
  model: recordingFields.model,
  prompt: recordingFields.prompt,
  response_format: responseFormat,
  temperature: recordingFields.temperature,
  metadata: recordingFields.metadata,
})

/** The body of `POST /v1/audio/speech`. */
export const SpeechBody = Type.Object({
  model: ModelId,
  input: Type.String({ maxLength: speechCharactersMax, description: 'The text to speak.' }),
  voice: ReadByEndpoint({
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', description: 'Name of the voice.' } },
      },
    ],
    description: "Name of one of the model's voices, exactly as listed by `GET /v1/models`.",
  }),
  response_format: Type.Optional(
    Type.String({
      enum: [...speechFormats],
      default: 'mp3',
      description: 'Format of the audio. `pcm` is 24 kHz, 16 bit, mono.',
    }),
  ),
  speed: Type.Optional(
    Type.Number({
      minimum: 0.25,
      maximum: 4,
      default: 1,
      description: 'Speaking rate. 1 is the normal rate of the voice.',
    }),
  ),
  instructions: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'How to speak: tone, accent, pace. Models without this feature ignore it.',
    }),
  ),
  stream_format: Type.Optional(
    Type.String({
      enum: ['audio', 'sse'],
      default: 'audio',
      description: 'Whether to send the audio as plain bytes or as base64 in server-sent events.',
    }),
  ),
  metadata: Type.Optional(RequestMetadata),
})

const start = Type.Number({ description: 'Start, in seconds from the beginning of the recording.' })
const end = Type.Number({ description: 'End, in seconds from the beginning of the recording.' })

export const TranscriptSegment = Type.Object({
  id: Type.Integer({ description: 'Position of the segment, counted from 0.' }),
  start,
  end,
  text: Type.String({ description: 'Text of the segment.' }),
  tokens: Type.Array(Type.Integer(), { description: 'Token ids of the text; empty if unknown.' }),
  temperature: Type.Number({ description: 'Temperature that was used for this segment.' }),
  avg_logprob: Type.Number({ description: 'Average log probability of the tokens.' }),
  compression_ratio: Type.Number({
    description: 'Compression ratio of the text. A high value indicates repetition.',
  }),
  no_speech_prob: Type.Number({ description: 'Probability that the segment contains no speech.' }),
  seek: Type.Optional(
    Type.Integer({ description: 'Seek offset of the segment. Only in the `openai` dialect.' }),
  ),
})
export type TranscriptSegment = Static<typeof TranscriptSegment>

const TranscriptWord = Type.Object({ word: Type.String({ description: 'The word.' }), start, end })

/** `text` alone, or with all details for `verbose_json`. */
export const Transcription = Type.Object({
  text: Type.String({ description: 'The whole text.' }),
  task: Type.Optional(
    Type.String({
      enum: ['transcribe', 'translate'],
      description: 'Whether the text is in the spoken language or translated into English.',
    }),
  ),
  language: Type.Optional(
    Type.String({ description: 'English name of the language of the text, in lower case.' }),
  ),
  duration: Type.Optional(Type.Number({ description: 'Duration of the recording in seconds.' })),
  segments: Type.Optional(
    Type.Array(TranscriptSegment, { description: 'The segments of the text, with their times.' }),
  ),
  words: Type.Optional(
    Type.Array(TranscriptWord, { description: 'The words of the text, with their times.' }),
  ),
  usage: Type.Optional(
    Type.Object(
      {
        type: Type.Literal('duration', { description: 'The request is billed by duration.' }),
        seconds: Type.Integer({ description: 'Seconds of audio, rounded up.' }),
      },
      { description: 'Billed usage. Only in the `openai` dialect.' },
    ),
  ),
})
export type Transcription = Static<typeof Transcription>

const EventType = <Name extends string>(name: Name) =>
  Type.Literal(name, { description: `The type of this event: always \`${name}\`.` })

/** The data of an event of a streamed transcription. */
const TranscriptEvent: TSchema = Type.Union([
  Type.Object({
    type: EventType('transcript.text.delta'),
    delta: Type.String({ description: 'The next part of the text.' }),
  }),
  Type.Object({
    type: EventType('transcript.text.done'),
    text: Type.String({ description: 'The whole text.' }),
  }),
])

/** The data of an event of streamed speech. */
const SpeechEvent: TSchema = Type.Union([
  Type.Object({
    type: EventType('speech.audio.delta'),
    audio: Type.String({ description: 'The next bytes of the audio, in base64.' }),
  }),
  Type.Object({ type: EventType('speech.audio.done') }),
])

/** A voice that the caller may use. */
const Voice = Type.Object({
  name: Type.String({ description: 'Name of the voice, for the parameter `voice`.' }),
  object: ObjectType('voice'),
  language: Nullable(
    Type.String({ description: 'Language in which it sounds native, such as `en-US`; null if unknown.' }),
  ),
  gender: Nullable(
    Type.String({ enum: ['female', 'male', 'neutral'], description: 'How it sounds; null if unknown.' }),
  ),
  models: Type.Array(Type.String(), {
    description: 'Models that have the voice, by id, or by alias if they have it only under that name.',
  }),
  sample: Nullable(
    Type.String({
      description:
        'URL of a recording, free of charge and without a key; null for voices that only chat models have.',
    }),
  ),
})
export type Voice = Static<typeof Voice>

export const audioOperations = {
  listVoices: {
    id: 'listVoices',
    method: 'GET',
    path: '/v1/audio/voices',
    summary: 'List voices',
    description: 'Lists the voices of the models that the key may use, with a recording of each.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    answer: {
      description: 'The voices.',
      schema: Type.Object({
        object: ObjectType('list'),
        data: Type.Array(Voice, { description: 'The voices, in the order of the models.' }),
      }),
    },
    errors: [],
  },
  getVoiceSample: {
    id: 'getVoiceSample',
    method: 'GET',
    path: '/v1/audio/voices/{model}/{voice}/sample.mp3',
    summary: 'Listen to a voice by its signed link',
    description:
      'Returns one spoken sentence as MP3. `GET /v1/audio/voices` lists the links. A link contains its own authorization, so no API key is needed. The recording is made at the first request and then stored; nobody is charged.',
    access: 'link',
    parameters: {
      path: {
        model: Type.String({ description: 'Id or alias of the model.' }),
        voice: Type.String({ description: 'Name of the voice.' }),
      },
      query: {
        expires: Type.String({ description: 'Unix time in seconds at which the link expires.' }),
        key: Type.String({ description: 'Id of the secret that signed the link.' }),
        signature: Type.String({ description: 'Signature of the link.' }),
      },
    },
    answer: { description: 'The recording.', contentType: 'audio/mpeg' },
    errors: ['invalid_parameter', 'media_not_found', 'link_expired', ...errorsOfProviders],
  },
  createTranscription: {
    id: 'createTranscription',
    method: 'POST',
    path: '/v1/audio/transcriptions',
    summary: 'Transcribe a recording',
    description:
      'Transcribes a recording of up to 25 MB in the language that is spoken. Use a transcription task for longer recordings.',
    access: 'key',
    scopes: ['create'],
    limit: 'audio',
    creates: true,
    body: {
      form: [TranscriptionForm],
      json: null,
      sizeBytesMax: audioBytesMax + mebibyte,
      fileBytesMax: audioBytesMax,
    },
    answer: {
      description: 'The text, in the requested format.',
      schema: Transcription,
      streams: true,
      texts: true,
      events: TranscriptEvent,
    },
    errors: [
      ...errorsOfBodies,
      ...errorsOfAudioFiles,
      ...errorsOfProviders,
      'audio_requires_payg',
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
  },
  createTranslation: {
    id: 'createTranslation',
    method: 'POST',
    path: '/v1/audio/translations',
    summary: 'Translate a recording into English',
    description:
      'Transcribes a recording of up to 25 MB and translates the text into English. The built-in provider leaves a passage in the spoken language if its translation is too uncertain, as often for a few words. The header `X-Translation` is then `none` if no passage is translated, or `partial`; `avg_logprob` and `no_speech_prob` of the segments in `verbose_json` show how certain each is.',
    access: 'key',
    scopes: ['create'],
    limit: 'audio',
    creates: true,
    body: {
      form: [TranslationForm],
      json: null,
      sizeBytesMax: audioBytesMax + mebibyte,
      fileBytesMax: audioBytesMax,
    },
    answer: {
      description:
        'The English text, in the requested format. With the header `X-Translation`, all of it (`none`) or a part (`partial`) is in the spoken language.',
      schema: Transcription,
      texts: true,
    },
    errors: [
      ...errorsOfBodies,
      ...errorsOfAudioFiles,
      ...errorsOfProviders,
      'audio_requires_payg',
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
  },
  createSpeech: {
    id: 'createSpeech',
    method: 'POST',
    path: '/v1/audio/speech',
    summary: 'Generate speech from text',
    description:
      'Speaks a text with one of the voices of a model. The audio is streamed while it is generated.',
    access: 'key',
    scopes: ['create'],
    limit: 'audio',
    creates: true,
    body: { form: null, json: [SpeechBody], sizeBytesMax: mebibyte },
    answer: {
      description: 'The audio, streamed while it is generated.',
      contentType: 'audio/*',
      events: SpeechEvent,
    },
    errors: [
      ...errorsOfBodies,
      'voice_not_supported',
      'output_length_exceeded',
      ...errorsOfProviders,
      'audio_requires_payg',
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
  },
} as const satisfies Record<string, Operation>
