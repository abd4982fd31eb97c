import { Type, type Static } from 'typebox'

/** The body of `POST /v1/chat/completions`; the messages are read by the model's own door. */
export const ChatBody = Type.Object({
  model: Type.String({ description: 'The model to use.' }),
  messages: Type.Unsafe<unknown>({
    type: 'array',
    items: { type: 'object' },
    description: 'The conversation; a video is made of the last message of the user.',
    'x-read-by-door': true,
  }),
  stream: Type.Optional(
    Type.Boolean({ default: false, description: 'Send the reply as server-sent events.' }),
  ),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 128, default: 1 })),
})

/** One event of a streamed reply. */
export const ChatChunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Type.Object({ role: Type.Optional(Type.Literal('assistant')), content: Type.String() }),
      finish_reason: Type.Union([Type.Literal('stop'), Type.Null()]),
    }),
  ),
})
export type ChatChunk = Static<typeof ChatChunk>

/** A reply that is not streamed. */
export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({ role: Type.Literal('assistant'), content: Type.String() }),
      finish_reason: Type.Literal('stop'),
    }),
  ),
  usage: Type.Object({
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
  }),
})
export type ChatCompletion = Static<typeof ChatCompletion>
