import { Type, type Static } from 'typebox'

export const inputAudioFormats = ['wav', 'mp3'] as const
export type InputAudioFormat = (typeof inputAudioFormats)[number]

export const replyAudioFormats = ['wav', 'mp3', 'flac', 'opus', 'pcm16', 'aac'] as const

const temperature = Type.Optional(Type.Number({ minimum: 0, maximum: 2 }))
const topP = Type.Optional(Type.Number({ minimum: 0, maximum: 1 }))
const tokens = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

/** The body of `POST /v1/chat/completions` for a video; the messages are read by the model's own door. */
export const ChatBody = Type.Object({
  model: Type.String({ description: 'The model to use.' }),
  messages: Type.Unsafe<unknown>({
    type: 'array',
    items: { type: 'object' },
    description: 'The conversation; a video is made of the last message of the user.',
    'x-read-by-endpoint': true,
  }),
  stream: Type.Optional(
    Type.Boolean({ default: false, description: 'Send the reply as server-sent events.' }),
  ),
  n: Type.Optional(Type.Integer({ enum: [1], default: 1, description: 'One video for each request.' })),
  temperature,
  top_p: topP,
  max_tokens: tokens('Checked; a video has no tokens to count.'),
  max_completion_tokens: tokens('The same.'),
})

/** The same for a model that talks, with text or with sound. */
export const DialogueBody = Type.Object({
  model: ChatBody.properties.model,
  messages: Type.Unsafe<unknown>({
    type: 'array',
    items: {
      type: 'object',
      properties: {
        role: { type: 'string', enum: ['system', 'developer', 'user', 'assistant'] },
        content: {
          description:
            'Text, or a list of parts: `{type: "text", text}` and, from the user, `{type: "input_audio", input_audio: {data, format}}` with base64 of wav or mp3.',
        },
        audio: {
          type: 'object',
          properties: { id: { type: 'string' } },
          description: 'Of an assistant: names an earlier spoken reply.',
        },
      },
      required: ['role'],
    },
    description: 'The conversation.',
    'x-read-by-endpoint': true,
  }),
  modalities: Type.Optional(
    Type.Unsafe<unknown>({
      type: 'array',
      items: { type: 'string', enum: ['text', 'audio'] },
      default: ['text'],
      description: 'What the reply is made of; `audio` needs `audio`.',
      'x-read-by-endpoint': true,
    }),
  ),
  audio: Type.Optional(
    Type.Unsafe<unknown>({
      type: 'object',
      properties: {
        voice: { type: 'string', description: "One of the model's voices." },
        format: { type: 'string', enum: [...replyAudioFormats] },
      },
      required: ['voice', 'format'],
      description: 'How a spoken reply is to sound.',
      'x-read-by-endpoint': true,
    }),
  ),
  temperature,
  top_p: topP,
  max_tokens: tokens("How long the reply may be, up to the model's limit."),
  max_completion_tokens: tokens('The same; it counts where both are given.'),
  stop: Type.Optional(
    Type.Unsafe<unknown>({
      type: ['string', 'array'],
      items: { type: 'string' },
      maxItems: 4,
      description: 'Texts that end the reply.',
      'x-read-by-endpoint': true,
    }),
  ),
  seed: Type.Optional(
    Type.Integer({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The same seed gives the same reply where the model can.',
    }),
  ),
  stream: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Send the reply as server-sent events; not for a spoken one.',
    }),
  ),
  stream_options: Type.Optional(
    Type.Unsafe<unknown>({
      type: 'object',
      properties: { include_usage: { type: 'boolean' } },
      'x-read-by-endpoint': true,
    }),
  ),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 128, default: 1 })),
})

const TokenDetails = Type.Object({ text_tokens: Type.Integer(), audio_tokens: Type.Integer() })

export const ChatUsage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Optional(TokenDetails),
  completion_tokens_details: Type.Optional(TokenDetails),
})
export type ChatUsage = Static<typeof ChatUsage>

const FinishReason = Type.Union([
  Type.Literal('stop'),
  Type.Literal('length'),
  Type.Literal('content_filter'),
])

/** One event of a streamed reply. */
export const ChatChunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Type.Object({
        role: Type.Optional(Type.Literal('assistant')),
        content: Type.Optional(Type.String()),
      }),
      finish_reason: Type.Union([FinishReason, Type.Null()]),
    }),
  ),
  usage: Type.Optional(
    Type.Union([ChatUsage, Type.Null()], {
      description: 'Where it was asked for: in the last event, which has no choices.',
    }),
  ),
})
export type ChatChunk = Static<typeof ChatChunk>

/** A spoken reply. */
const ChatAudio = Type.Object({
  id: Type.String({ description: 'Names the reply in a later message of the conversation.' }),
  expires_at: Type.Integer({ description: 'Until when it can be named, in Unix seconds.' }),
  data: Type.String({ description: 'The sound, in base64.' }),
  transcript: Type.String(),
})

/** A reply that is not streamed. */
export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: Type.String(),
        audio: Type.Optional(ChatAudio),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: ChatUsage,
})
export type ChatCompletion = Static<typeof ChatCompletion>
