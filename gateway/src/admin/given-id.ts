import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import { uuid } from './page.ts'

export const notFound = (what: string) =>
  new ApiError('resource_not_found', { message: `There is no ${what} with this id.` })

/** The id in the path. A malformed id is reported as not found. */
export const givenId = ({ path }: Pick<Call, 'path'>, what: string): string => {
  const { id = '' } = path
  if (!uuid.test(id)) throw notFound(what)
  return id
}

/** The id in a filter parameter. */
export const givenFilterId = ({ query }: Pick<Call, 'query'>, name: string): string | undefined => {
  const id = query[name]
  if (id === undefined || uuid.test(id)) return id
  throw new ApiError('invalid_parameter', { param: name, message: `'${name}' must be an id.` })
}
