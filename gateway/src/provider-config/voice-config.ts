/** The setting `voices` of a model: names, or mappings with what is known about the voices. */
import { Type, type Static } from 'typebox'

import type { Voice } from '../models/model.ts'

const voiceName = Type.String({ minLength: 1, maxLength: 100 })

const voiceConfig = Type.Union(
  [
    voiceName,
    Type.Object(
      {
        name: voiceName,
        language: Type.Optional(
          Type.String({
            pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
            'x-demand': 'a language such as en-US',
          }),
        ),
        gender: Type.Optional(Type.Enum(['female', 'male', 'neutral'])),
        sample: Type.Optional(
          Type.String({ pattern: '^https?://', maxLength: 2_000, 'x-demand': 'the URL of a recording' }),
        ),
      },
      { additionalProperties: false },
    ),
  ],
  {
    'x-demand':
      'a name, or a mapping such as {name: nova, language: en-US, gender: female} with a gender of female, male or neutral',
  },
)

export const voicesSetting = (description: string) => Type.Array(voiceConfig, { minItems: 1, description })

export const voicesDescription =
  'Its voices: names, or mappings such as `{name: nova, language: en-US, gender: female}`, with the URL of a recording as `sample` if there is one.'

export const voiceOf = (given: Static<typeof voiceConfig>): Voice =>
  typeof given === 'string'
    ? { name: given, language: null, gender: null, sample: null }
    : {
        name: given.name,
        language: given.language ?? null,
        gender: given.gender ?? null,
        sample: given.sample ?? null,
      }
