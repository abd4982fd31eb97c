import type { RefusalCode } from '../../port/video.ts'
import { refusalCodeOf } from './vendor-error.ts'

const sensitive = /\bnsfw\b|flagged as (sensitive|unsafe|inappropriate)/i
/** A word that looks like a code: `invalid_input: …`, `… (content_filter)`. */
const codes = /(?:^|[\s("'[])([a-z]+(?:_[a-z0-9]+)+)(?=[:)"'\]]|$)/g

/** Finds the public code for a refusal that is a sentence, from a code in it or from its wording. */
export function refusalCodeOfSentence(sentence: string): RefusalCode {
  if (sensitive.test(sentence)) return 'content_policy_violation'
  const rest = { type: undefined, field: undefined }
  const vendorErrors = [
    { ...rest, code: undefined, message: sentence },
    ...sentence.matchAll(codes).map(([, code]) => ({ ...rest, code, message: undefined })),
  ]
  return vendorErrors.map(refusalCodeOf).find((code) => code !== 'upstream_error') ?? 'upstream_error'
}
