import { ApiError } from '@kinora/contract/errors'

import { providerConfigSchema } from '../../provider-config/provider-config.ts'
import { formatPath, type Problem } from '../../provider-config/validate-config.ts'
import { snakeCase, snakeCaseIn } from '../settings/setting-names.ts'

/** Where something stands in the body: what only its kind knows of is one step further down. */
const paramOf = ([first, ...rest]: Problem['path']): string => {
  if (first === undefined) return 'name'
  const name = snakeCase(String(first))
  const isCommon = Object.hasOwn(providerConfigSchema.properties, first)
  return formatPath(isCommon ? [name, ...rest] : ['settings', name, ...rest])
}

/** What is wrong with an entry, in the words of this API. */
export const problemText = ({ path, message }: Problem): string =>
  `'${paramOf(path)}' ${snakeCaseIn(message)}`

/** The first problem by name, and the others along with it. */
export const refuseConfig = (problems: Problem[]): ApiError =>
  new ApiError('invalid_parameter', {
    param: paramOf(problems[0]?.path ?? []),
    message: `${problems.map(problemText).join('. ')}.`,
  })
