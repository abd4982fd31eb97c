import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

import { answerQuestions } from '../platform/worker-thread.ts'
import type { CountQuestion } from './count-tokens.ts'
import { slicesOf } from './token-slices.ts'

// What looks like a special token in a caller's text is only text.
const asText = { disallowedSpecial: new Set<string>() }

answerQuestions(({ texts, enough }: CountQuestion): number => {
  let tokens = 0
  for (const text of texts) {
    for (const slice of slicesOf(text)) {
      tokens += countTokens(slice, asText)
      if (tokens >= enough) return tokens
    }
  }
  return tokens
})
