import type { TokenRates } from '../billing/prices/price-list.ts'
import { priceAt, type Price, type Rate } from '../billing/prices/price.ts'
import type { DialogueUsage } from '../providers/port/dialogue.ts'

/** What so many tokens of each kind cost. */
export const priceOfTokens = (usage: DialogueUsage, rates: TokenRates): Price[] => {
  const rows: [Rate, number][] = [
    [rates.textInput, usage.inputTextTokens],
    [rates.audioInput, usage.inputAudioTokens],
    [rates.textOutput, usage.outputTextTokens],
    [rates.audioOutput, usage.outputAudioTokens],
  ]
  return rows.flatMap(([rate, tokens]) => (tokens > 0 ? priceAt(rate, tokens) : []))
}
