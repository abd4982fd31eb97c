/** Settings of providers and models on the command line: `name=value`. */
import { UsageError } from '../frame/usage-error.ts'
import { readAmount } from './read-amount.ts'

const readPair = (label: string, text: string, example: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) {
    throw new UsageError(`${label} must be a name and a value, such as ${example}, got "${text}".`)
  }
  return [text.slice(0, at), text.slice(at + 1)]
}

/** A value that is JSON is that, such as `[4,8]`; another one is a text. */
const readValue = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

export const readSettings = (texts: string[]): Record<string, unknown> =>
  Object.fromEntries(
    texts.map((text) => {
      const [name, value] = readPair('--set', text, 'seconds=[4,8]')
      return [name, readValue(value)] as const
    }),
  )

/** Prices or costs such as `second=0.10`. */
export const readPrices = (label: string, texts: string[]) =>
  texts.map((text) => {
    const [unit, amount] = readPair(label, text, 'second=0.10')
    return { unit, micros: readAmount(label, amount) }
  })
