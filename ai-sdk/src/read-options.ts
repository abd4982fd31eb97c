/** Reads `providerOptions.kinora`. */
import { InvalidArgumentError } from '@ai-sdk/provider'

type Kind = 'string' | 'number' | 'boolean' | 'strings' | 'object'

/** An option: the kind of its value, and the parameter of the API that it sets, if it sets one. */
export interface Option {
  kind: Kind
  parameter?: string
}

const isOfKind = (kind: Kind, value: unknown): boolean => {
  if (kind === 'strings') return Array.isArray(value) && value.every((item) => typeof item === 'string')
  if (kind === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === kind
}

const reject = (message: string) => new InvalidArgumentError({ argument: 'providerOptions', message })

/**
 * The options of a call. An unknown name is an error, because a misspelt option would otherwise be paid for without having
 * its effect.
 */
export const readOptions = <Options extends object>(
  providerOptions: Record<string, Record<string, unknown>> | undefined,
  table: Record<keyof Options & string, Option>,
): { options: Options; parameters: Record<string, unknown> } => {
  const given = Object.entries(providerOptions?.['kinora'] ?? {}).filter(([, value]) => value !== undefined)
  const parameters: Record<string, unknown> = {}
  for (const [name, value] of given) {
    const option = Object.hasOwn(table, name) ? table[name as keyof Options & string] : undefined
    if (option === undefined) {
      throw reject(
        `There is no option 'providerOptions.kinora.${name}'. The options are: ${Object.keys(table).join(', ')}.`,
      )
    }
    if (!isOfKind(option.kind, value)) {
      const wanted = option.kind === 'strings' ? 'a list of strings' : `of type ${option.kind}`
      throw reject(`'providerOptions.kinora.${name}' must be ${wanted}.`)
    }
    if (option.parameter !== undefined) parameters[option.parameter] = value
  }
  return { options: Object.fromEntries(given) as Options, parameters }
}
