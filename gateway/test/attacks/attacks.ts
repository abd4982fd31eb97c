import type { Environment } from '../../src/config.ts'
import { anonymous } from './anonymous.ts'
import { formFields } from './form-fields.ts'
import { heldUploads } from './held-uploads.ts'
import { hoggedSpeech } from './hogged-speech.ts'
import { jsonBomb } from './json-bomb.ts'
import { mediaWork } from './media-work.ts'
import { overload, withoutRateLimits } from './overload.ts'
import { slowBody } from './slow-body.ts'
import { slowNames } from './slow-names.ts'
import type { Attack } from './target.ts'
import { unpaidDecoding } from './unpaid-decoding.ts'
import { unreadMedia } from './unread-media.ts'

export const attacks = {
  'json-bomb': jsonBomb,
  'slow-body': slowBody,
  'unread-media': unreadMedia,
  'media-work': mediaWork,
  'unpaid-decoding': unpaidDecoding,
  'form-fields': formFields,
  'held-uploads': heldUploads,
  'hogged-speech': hoggedSpeech,
  'slow-names': slowNames,
  anonymous,
  overload,
} satisfies Record<string, Attack>

export type AttackName = keyof typeof attacks

/** Settings of the attacked API, for an attack that the default ones would stop by their rate limits. */
export const environments: Partial<Record<AttackName, Environment>> = { overload: withoutRateLimits }
