import { Type, type Static, type TSchema } from 'typebox'

/** What one upload of audio may have; longer recordings go to transcription tasks. */
export const audioBytesMax = 26_214_400
export const speechCharactersMax = 4096

export const transcriptFormats = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const
export type TranscriptFormat = (typeof transcriptFormats)[number]

export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export type SpeechFormat = (typeof speechFormats)[number]

const AudioUpload = Type.Unsafe<unknown>({
  type: 'string',
  format: 'binary',
  description:
    'The audio: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm. What it is shows by its content.',
  'x-read-by-endpoint': true,
})

const model = Type.String({ description: 'The model to use.' })
const prompt = Type.Optional(
  Type.String({ maxLength: 10_000, description: 'Context, or the spelling of names that are said.' }),
)
const responseFormat = Type.Optional(
  Type.String({ enum: [...transcriptFormats], default: 'json', description: 'The shape of the answer.' }),
)
const temperature = Type.Optional(
  Type.Number({ minimum: 0, maximum: 1, default: 0, description: 'How freely the model guesses.' }),
)
const language = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$',
    'x-demand': 'a language code such as en or pt-BR',
    description: 'The language that is spoken, as an ISO 639-1 code. Found out where it is not given.',
  }),
)
const granularities = Type.Optional(
  Type.Unsafe<unknown>({
    type: 'array',
    items: { type: 'string', enum: ['word', 'segment'] },
    description: '`word` adds the time of each word to `verbose_json`.',
    'x-read-by-endpoint': true,
  }),
)

/** The form of `POST /v1/audio/transcriptions`. */
export const TranscriptionForm = Type.Object({
  file: AudioUpload,
  model,
  language,
  prompt,
  response_format: responseFormat,
  temperature,
  'timestamp_granularities[]': granularities,
  stream: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Send the text as server-sent events while it is made out.',
    }),
  ),
})

/** The form of `POST /v1/audio/translations`; the answer is English. */
export const TranslationForm = Type.Object({
  file: AudioUpload,
  model,
  prompt,
  response_format: responseFormat,
  temperature,
})

/** The body of `POST /v1/audio/speech`. */
export const SpeechBody = Type.Object({
  model,
  input: Type.String({ maxLength: speechCharactersMax, description: 'What to say.' }),
  voice: Type.Unsafe<unknown>({
    anyOf: [{ type: 'string' }, { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }],
    description: "One of the model's voices, exactly as it is written.",
    'x-read-by-endpoint': true,
  }),
  response_format: Type.Optional(
    Type.String({ enum: [...speechFormats], default: 'mp3', description: '`pcm` is 24 kHz, 16 bit, mono.' }),
  ),
  speed: Type.Optional(Type.Number({ minimum: 0.25, maximum: 4, default: 1 })),
  instructions: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'How to say it: tone, accent, pace. Not every model listens.',
    }),
  ),
  stream_format: Type.Optional(
    Type.String({
      enum: ['audio', 'sse'],
      default: 'audio',
      description: 'Bytes, or server-sent events that carry them.',
    }),
  ),
})

export const TranscriptSegment = Type.Object({
  id: Type.Integer(),
  start: Type.Number({ description: 'Seconds from the beginning.' }),
  end: Type.Number(),
  text: Type.String(),
  tokens: Type.Array(Type.Integer()),
  temperature: Type.Number(),
  avg_logprob: Type.Number(),
  compression_ratio: Type.Number(),
  no_speech_prob: Type.Number(),
  seek: Type.Optional(Type.Integer({ description: "In the client library's dialect only." })),
})
export type TranscriptSegment = Static<typeof TranscriptSegment>

export const TranscriptWord = Type.Object({ word: Type.String(), start: Type.Number(), end: Type.Number() })
export type TranscriptWord = Static<typeof TranscriptWord>

/** `{text}`, or everything that is known of it. */
export const Transcription = Type.Object({
  text: Type.String(),
  task: Type.Optional(Type.String({ enum: ['transcribe', 'translate'] })),
  language: Type.Optional(
    Type.String({ description: 'The English name of the language, in small letters.' }),
  ),
  duration: Type.Optional(Type.Number({ description: 'Seconds.' })),
  segments: Type.Optional(Type.Array(TranscriptSegment)),
  words: Type.Optional(Type.Array(TranscriptWord)),
  usage: Type.Optional(
    Type.Object(
      { type: Type.Literal('duration'), seconds: Type.Number() },
      { description: "In the client library's dialect only." },
    ),
  ),
})
export type Transcription = Static<typeof Transcription>

/** What each event of a streamed transcription carries. */
export const TranscriptEvent: TSchema = Type.Union([
  Type.Object({ type: Type.Literal('transcript.text.delta'), delta: Type.String() }),
  Type.Object({ type: Type.Literal('transcript.text.done'), text: Type.String() }),
])

/** What each event of speech sent as events carries. */
export const SpeechEvent: TSchema = Type.Union([
  Type.Object({
    type: Type.Literal('speech.audio.delta'),
    audio: Type.String({ description: 'The next bytes, in base64.' }),
  }),
  Type.Object({ type: Type.Literal('speech.audio.done') }),
])

/** The form of `POST /v1/audio/transcription-tasks`. */
export const TranscriptionTaskForm = Type.Object({
  file: AudioUpload,
  model,
  language,
  prompt,
  temperature,
  task: Type.Optional(
    Type.String({
      enum: ['transcribe', 'translate'],
      default: 'transcribe',
      description: '`translate` gives English text, where the model can.',
    }),
  ),
})

/** A long recording being written down. */
export const TranscriptionTask = Type.Object({
  id: Type.String(),
  object: Type.Literal('transcription.task'),
  model: Type.String(),
  task: Type.String({ enum: ['transcribe', 'translate'] }),
  status: Type.String({ enum: ['pending', 'processing', 'completed', 'failed'] }),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  created_at: Type.Integer(),
  completed_at: Type.Union([Type.Integer(), Type.Null()]),
  expires_at: Type.Union([Type.Integer(), Type.Null()], { description: 'When the transcript goes.' }),
  duration: Type.Number({ description: 'Seconds of audio, which is what is charged for.' }),
  error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
})
export type TranscriptionTask = Static<typeof TranscriptionTask>

export const TranscriptionTaskList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(TranscriptionTask),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
})

export const DeletedTranscriptionTask = Type.Object({
  id: Type.String(),
  object: Type.Literal('transcription.task.deleted'),
  deleted: Type.Literal(true),
})
