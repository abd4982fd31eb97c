/** The methods of the `openai` package: which there are, and which of them a test has called with success. */
import { readFileSync } from 'node:fs'

import type OpenAI from 'openai'

import type { CompatibilityRow } from '../../../tools/compatibility.ts'

type Resource = Record<string, unknown>

const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && '_client' in value

/** All resources below this one by their names, such as `chat.completions`. */
const resourcesIn = (parent: object, prefix = ''): [string, Resource][] =>
  Object.entries(parent).flatMap(([name, value]: [string, unknown]) =>
    name !== '_client' && isResource(value)
      ? [[prefix + name, value], ...resourcesIn(value, `${prefix}${name}.`)]
      : [],
  )

const methodNames = (resource: Resource): string[] =>
  Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((name) => name !== 'constructor')

const openAiVersion = (
  JSON.parse(readFileSync(new URL('../../../node_modules/openai/package.json', import.meta.url), 'utf8')) as {
    version: string
  }
).version

/** The groups of the client, such as `images`, each with its methods, such as `images.generate`. */
export const methodsByGroup = (client: OpenAI): Map<string, string[]> =>
  new Map(
    [...Map.groupBy(resourcesIn(client), ([name]) => name.split('.')[0] ?? '')].map(([group, resources]) => [
      group,
      resources.flatMap(([name, resource]) => methodNames(resource).map((method) => `${name}.${method}`)),
    ]),
  )

/** Settles with the call. The body of a response is left to the test, because it can be read only once. */
const endOf = async (result: unknown): Promise<unknown> => {
  const { asResponse, done } = Object(result) as Partial<
    Record<'asResponse' | 'done', () => Promise<unknown>>
  >
  if (asResponse !== undefined) return asResponse.call(result)
  return done === undefined ? result : done.call(result)
}

/** Adds the name of each method of the client to `worked` when a call of it has succeeded. */
export const watchMethods = (client: OpenAI, worked: Set<string>): OpenAI => {
  for (const [name, resource] of resourcesIn(client)) {
    for (const method of methodNames(resource)) {
      const original = resource[method] as (...given: unknown[]) => unknown
      const watched = (...given: unknown[]) => {
        const result = original.apply(resource, given)
        endOf(result).then(
          () => worked.add(`${name}.${method}`),
          () => undefined,
        )
        return result
      }
      Object.defineProperty(resource, method, { value: watched })
    }
  }
  return client
}

/** A row of this package. */
export const rowOf = (
  provedBy: string,
  call: string,
  result: CompatibilityRow['result'],
  note = '',
): CompatibilityRow => ({ library: 'openai-node', version: openAiVersion, call, result, note, provedBy })
