/** `/v1/chat/completions`. */
import { Type, type Static } from 'typebox'

import { ModelId, Nullable, ObjectType, ReadByEndpoint, Time } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { RequestMetadata } from '../metadata.ts'
import {
  errorsOfBodies,
  errorsOfModels,
  errorsOfProviders,
  errorsOfSpending,
  type Operation,
} from '../operation.ts'

export const inputAudioFormats = ['wav', 'mp3'] as const
export type InputAudioFormat = (typeof inputAudioFormats)[number]

export const replyAudioFormats = ['wav', 'mp3', 'flac', 'opus', 'pcm16', 'aac'] as const

const temperature = Type.Optional(
  Type.Number({
    minimum: 0,
    maximum: 2,
    description: 'Sampling temperature. Higher values make the output more random.',
  }),
)
const topP = Type.Optional(
  Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'Nucleus sampling: only tokens within this cumulative probability are considered.',
  }),
)
const tokens = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

/** The body for a video model. */
export const ChatBody = Type.Object(
  {
    model: ModelId,
    messages: ReadByEndpoint({
      type: 'array',
      items: { type: 'object' },
      description: 'The conversation. The last message of the user describes the video.',
    }),
    stream: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to stream the reply as server-sent events.',
      }),
    ),
    n: Type.Optional(
      Type.Integer({ enum: [1], default: 1, description: 'Number of videos. Only 1 is supported.' }),
    ),
    temperature,
    top_p: topP,
    max_tokens: tokens('Validated, but without effect: the length of a video is not counted in tokens.'),
    max_completion_tokens: tokens('Validated, but without effect, like `max_tokens`.'),
    metadata: Type.Optional(RequestMetadata),
  },
  { title: 'Video models' },
)

/** The body for a dialogue model, with text or audio. */
export const DialogueBody = Type.Object(
  {
    model: ChatBody.properties.model,
    messages: ReadByEndpoint({
      type: 'array',
      items: {
        type: 'object',
        properties: {
          role: {
            type: 'string',
            enum: ['system', 'developer', 'user', 'assistant'],
            description: 'Author of the message.',
          },
          content: {
            description:
              'Text, or a list of parts: `{type: "text", text}` and, from the user, `{type: "input_audio", input_audio: {data, format}}` with wav or mp3 in base64.',
          },
          audio: {
            type: 'object',
            properties: { id: { type: 'string', description: 'Id of the spoken reply.' } },
            description: 'Refers to an earlier spoken reply. Only in messages of the assistant.',
          },
        },
        required: ['role'],
      },
      description: 'The conversation.',
    }),
    modalities: Type.Optional(
      ReadByEndpoint({
        type: 'array',
        items: { type: 'string', enum: ['text', 'audio'] },
        default: ['text'],
        description: 'Types of output. `audio` requires the parameter `audio`.',
      }),
    ),
    audio: Type.Optional(
      ReadByEndpoint({
        type: 'object',
        properties: {
          voice: { type: 'string', description: "Name of one of the model's voices." },
          format: { type: 'string', enum: [...replyAudioFormats], description: 'Format of the audio.' },
        },
        required: ['voice', 'format'],
        description: 'Voice and format of a spoken reply.',
      }),
    ),
    temperature,
    top_p: topP,
    max_tokens: tokens("Maximum number of tokens in the reply, up to the model's limit."),
    max_completion_tokens: tokens('Like `max_tokens`. Takes precedence if both are present.'),
    stop: Type.Optional(
      ReadByEndpoint({
        type: ['string', 'array'],
        items: { type: 'string' },
        maxItems: 4,
        description: 'Up to four strings. The reply ends before the first of them.',
      }),
    ),
    seed: Type.Optional(
      Type.Integer({
        minimum: Number.MIN_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Seed for sampling. The same seed gives the same reply, if the model supports it.',
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to stream the reply as server-sent events. Not available for spoken replies.',
      }),
    ),
    stream_options: Type.Optional(
      ReadByEndpoint({
        type: 'object',
        properties: {
          include_usage: { type: 'boolean', description: 'Whether to send the usage in a last event.' },
        },
        description: 'Options of a streamed reply.',
      }),
    ),
    n: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 128, default: 1, description: 'Number of replies.' }),
    ),
    metadata: Type.Optional(RequestMetadata),
  },
  { title: 'Dialogue models' },
)

const TokenDetails = (description: string) =>
  Type.Object(
    {
      text_tokens: Type.Integer({ description: 'Tokens of text.' }),
      audio_tokens: Type.Integer({ description: 'Tokens of audio.' }),
    },
    { description },
  )

export const ChatUsage = Type.Object(
  {
    prompt_tokens: Type.Integer({ description: 'Tokens of the messages.' }),
    completion_tokens: Type.Integer({ description: 'Tokens of the reply.' }),
    total_tokens: Type.Integer({ description: 'Sum of both.' }),
    prompt_tokens_details: Type.Optional(TokenDetails('The tokens of the messages by type.')),
    completion_tokens_details: Type.Optional(TokenDetails('The tokens of the reply by type.')),
  },
  { description: 'Number of tokens used.' },
)
export type ChatUsage = Static<typeof ChatUsage>

const FinishReason = Type.Union(
  [Type.Literal('stop'), Type.Literal('length'), Type.Literal('content_filter')],
  {
    description:
      'Why the reply ended: at its natural end or a stop string, at the token limit, or by the content filter.',
  },
)

const replyFields = {
  created: Time('When the reply was created.'),
  model: Type.String({ description: 'Id of the model.' }),
}
const index = Type.Integer({ description: 'Position of the choice, counted from 0.' })

/** One event of a streamed reply. */
export const ChatChunk = Type.Object({
  id: Type.String({ description: 'Id of the reply; the same in all events.' }),
  object: ObjectType('chat.completion.chunk'),
  ...replyFields,
  choices: Type.Array(
    Type.Object({
      index,
      delta: Type.Object(
        {
          role: Type.Optional(Type.Literal('assistant', { description: 'Always `assistant`.' })),
          content: Type.Optional(
            Type.String({
              description:
                'The next part of the text. For a video model: one line with its newline, `task_id: <id>`, `progress: <percent>%` or `video_url: <url>`.',
            }),
          ),
        },
        { description: 'What this event adds to the message.' },
      ),
      finish_reason: Nullable(FinishReason),
    }),
    { description: 'The choices that this event continues.' },
  ),
  usage: Type.Optional(
    Type.Union([ChatUsage, Type.Null()], {
      description: 'Number of tokens used. Only if requested, in the last event, which has no choices.',
    }),
  ),
})
export type ChatChunk = Static<typeof ChatChunk>

/** A spoken reply. */
const ChatAudio = Type.Object(
  {
    id: Type.String({ description: 'Id by which later messages can refer to this audio.' }),
    expires_at: Time('Until when later messages can refer to this audio.'),
    data: Type.String({ description: 'The audio in base64.' }),
    transcript: Type.String({ description: 'The spoken text.' }),
  },
  { description: 'The spoken reply. Only if audio was requested.' },
)

export const ChatCompletion = Type.Object({
  id: Type.String({ description: 'Id of the reply.' }),
  object: ObjectType('chat.completion'),
  ...replyFields,
  choices: Type.Array(
    Type.Object({
      index,
      message: Type.Object(
        {
          role: Type.Literal('assistant', { description: 'Always `assistant`.' }),
          content: Type.String({ description: 'Text of the reply. For a video model: a link to the video.' }),
          audio: Type.Optional(ChatAudio),
        },
        { description: 'The message of the assistant.' },
      ),
      finish_reason: FinishReason,
    }),
    { description: 'The replies: as many as requested by `n`.' },
  ),
  usage: ChatUsage,
})
export type ChatCompletion = Static<typeof ChatCompletion>

export const chatOperations = {
  completeChat: {
    id: 'completeChat',
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Create a chat completion',
    description:
      'Generates the next message of a conversation. A dialogue model replies with text or audio; a video model replies with a link to a video.',
    access: 'key',
    scopes: ['create'],
    limit: 'chat',
    creates: true,
    body: { form: null, json: [ChatBody, DialogueBody], sizeBytesMax: 88 * mebibyte, spoolsTexts: true },
    answer: {
      description: 'The reply. With `stream`, server-sent events.',
      schema: ChatCompletion,
      streams: true,
      events: ChatChunk,
    },
    errors: [
      ...errorsOfBodies,
      'invalid_image',
      'task_failed',
      'audio_requires_payg',
      'voice_not_supported',
      'invalid_file_format',
      'context_length_exceeded',
      'output_length_exceeded',
      ...errorsOfProviders,
      ...errorsOfModels,
      ...errorsOfSpending,
    ],
  },
} as const satisfies Record<string, Operation>
