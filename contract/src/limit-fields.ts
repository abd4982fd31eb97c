/** The limits of accounts and keys. */
import { Type } from 'typebox'

import { limitGroups, type LimitGroup } from './operation.ts'

export const TaskCount = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000, description })

export const PerMinute = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000_000, description })

const limitDescriptions: Record<LimitGroup, string> = {
  create: 'Requests that create videos, characters or transcription tasks.',
  read: 'Requests that read or change existing resources.',
  audio: 'Requests for speech, transcriptions and translations.',
  chat: 'Requests for chat completions.',
}

export const Limits = Type.Object(
  Object.fromEntries(limitGroups.map((group) => [group, Type.Optional(PerMinute(limitDescriptions[group]))])),
  { description: 'Rate limits by group of operations, in requests per minute.' },
)
