import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

import { answerQuestions } from '../platform/worker-thread.ts'
import type { CountQuestion } from './count-tokens.ts'
import { slicesOf } from './token-slices.ts'

// Special tokens in a caller's text are counted as text.
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
