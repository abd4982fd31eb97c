import { ApiError, errors, type ErrorCode } from '@kinora/contract/errors'

import type { Engine } from '../providers/port/engine.ts'
import { ProviderFailure } from '../providers/port/failure.ts'

/** Public codes that a provider may refuse a request with; anything else it says is its own affair. */
const passedOn: ErrorCode[] = [
  'content_policy_violation',
  'invalid_parameter',
  'invalid_file_format',
  'voice_not_supported',
  'context_length_exceeded',
  'output_length_exceeded',
  'service_unavailable',
]

const isPassedOn = (code: string | undefined): code is ErrorCode =>
  code !== undefined && code in errors && passedOn.includes(code as ErrorCode)

/**
 * What a caller who waits for the answer is told when a provider failed. A provider that refuses a value speaks of `input`,
 * the parameter it was given: everything else was checked before.
 */
export const problemOf = (
  error: unknown,
  { model, input }: { model: string; input: 'input' | 'file' | 'messages' },
): unknown => {
  if (!(error instanceof ProviderFailure)) return error
  const { kind, code, forCaller, retryAfterMs } = error
  const options = {
    cause: error,
    detail: error.message,
    ...(forCaller !== undefined && { message: forCaller }),
  }
  if (code === 'invalid_parameter') return new ApiError(code, { ...options, param: input })
  if (isPassedOn(code)) return new ApiError(code, options)
  if (kind === 'moderated') return new ApiError('content_policy_violation', options)
  if (kind === 'busy') {
    const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 1000) / 1000))
    return new ApiError('model_overloaded', {
      ...options,
      message: forCaller ?? `'${model}' is overloaded at the moment.`,
      headers: { 'retry-after': String(seconds) },
    })
  }
  return new ApiError('upstream_error', options)
}

/** Tells which engine answered, where the provider says. */
export const engineHeaders = (engine: Engine | undefined): Record<string, string> => ({
  ...(engine !== undefined && { 'x-engine': engine.name }),
  ...(engine?.wanted !== undefined && { 'x-engine-wanted': engine.wanted }),
})
