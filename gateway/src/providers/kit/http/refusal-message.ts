import type { RefusalCode } from '../../port/video.ts'
import { refusalCodeOf } from './vendor-error.ts'

const sensitive = /\bnsfw\b|flagged as (sensitive|unsafe|inappropriate)/i
/** A word that is written like a code, and set off as one: `invalid_input: …`, `… (content_filter)`. */
const codes = /(?:^|[\s("'[])([a-z]+(?:_[a-z0-9]+)+)(?=[:)"'\]]|$)/g

/** The public code for a refusal that is one sentence, by a code in it or by what it says. */
export function refusalCodeOfSentence(sentence: string): RefusalCode {
  if (sensitive.test(sentence)) return 'content_policy_violation'
  const rest = { type: undefined, field: undefined }
  const complaints = [
    { ...rest, code: undefined, message: sentence },
    ...sentence.matchAll(codes).map(([, code]) => ({ ...rest, code, message: undefined })),
  ]
  return complaints.map(refusalCodeOf).find((code) => code !== 'upstream_error') ?? 'upstream_error'
}
