import { ApiError } from '@kinora/contract/errors'

export type Member = Record<string, unknown>

export const invalid = (param: string, demand: string) =>
  new ApiError('invalid_parameter', { param, message: `'${param}' must be ${demand}.` })

export const missing = (param: string) =>
  new ApiError('missing_parameter', { param, message: `'${param}' is required.` })

export const empty = (param: string) =>
  new ApiError('missing_parameter', { param, message: `'${param}' is empty.` })

export const memberOf = (param: string, value: unknown): Member => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Member
  throw invalid(param, 'an object')
}

/** Refuses NUL, which PostgreSQL cannot store as text, and unpaired surrogates. */
export const assertWellFormed = (param: string, text: string): void => {
  if (text.includes('\0') || !text.isWellFormed()) throw invalid(param, 'well-formed text')
}
