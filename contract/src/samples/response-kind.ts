/** What `@kinora/client` makes of the response of an operation. */
import type { Operation } from '../operation.ts'

interface ListSchema {
  anyOf?: ListSchema[]
  properties?: { object?: { const?: unknown } }
}

const isFile = ({ id, answer }: Operation): boolean =>
  id === 'getVideoContent' ||
  (answer.schema === undefined && /^(audio|video)\//.test(answer.contentType ?? ''))

const isList = ({ answer }: Operation): boolean => {
  const schema = (answer.schema ?? {}) as ListSchema
  const [first = schema] = schema.anyOf ?? []
  return first.properties?.object?.const === 'list'
}

export const responseKindOf = (operation: Operation): 'file' | 'list' | 'events' | 'text' | 'object' => {
  const { answer } = operation
  if (isFile(operation)) return 'file'
  if (isList(operation)) return 'list'
  if (answer.schema !== undefined) return 'object'
  return answer.events === undefined ? 'text' : 'events'
}
