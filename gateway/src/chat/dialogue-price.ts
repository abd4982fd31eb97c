import { priceOf, type Price, type PriceUnit } from '../billing/price.ts'
import type { TokenPrices } from '../models/model.ts'
import type { DialogueUsage } from '../providers/port/dialogue.ts'

/** What so many tokens of each kind cost. */
export const priceOfTokens = (usage: DialogueUsage, prices: TokenPrices): Price[] => {
  const rows: [PriceUnit, number, number][] = [
    ['million_text_input_tokens', prices.textInputMicros, usage.inputTextTokens],
    ['million_audio_input_tokens', prices.audioInputMicros, usage.inputAudioTokens],
    ['million_text_output_tokens', prices.textOutputMicros, usage.outputTextTokens],
    ['million_audio_output_tokens', prices.audioOutputMicros, usage.outputAudioTokens],
  ]
  return rows.flatMap(([unit, unitMicros, tokens]) => (tokens > 0 ? priceOf(unit, unitMicros, tokens) : []))
}
