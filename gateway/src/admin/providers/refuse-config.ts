import { ApiError } from '@kinora/contract/errors'

import { providerConfigSchema } from '../../provider-config/provider-config.ts'
import { formatPath, type Problem } from '../../provider-config/validate-config.ts'
import { snakeCase, snakeCaseIn } from '../settings/setting-names.ts'

/** The parameter in the request body. Settings of the provider's kind are inside `settings`. */
const paramOf = ([first, ...rest]: Problem['path']): string => {
  if (first === undefined) return 'name'
  const name = snakeCase(String(first))
  const isCommon = Object.hasOwn(providerConfigSchema.properties, first)
  return formatPath(isCommon ? [name, ...rest] : ['settings', name, ...rest])
}

/** A configuration problem, with the field names of this API. */
export const problemText = ({ path, message }: Problem): string =>
  `'${paramOf(path)}' ${snakeCaseIn(message)}`

/** `param` names the first problem; the message lists all. */
export const refuseConfig = (problems: Problem[]): ApiError =>
  new ApiError('invalid_parameter', {
    param: paramOf(problems[0]?.path ?? []),
    message: `${problems.map(problemText).join('. ')}.`,
  })
