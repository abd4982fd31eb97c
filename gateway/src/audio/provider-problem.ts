import { ApiError, errors, type ErrorCode } from '@kinora/contract/errors'

import type { Engine } from '../providers/port/engine.ts'
import { ProviderFailure } from '../providers/port/failure.ts'

/** Error codes of a provider that callers see. Any other code becomes `upstream_error`. */
const passedOn: ErrorCode[] = [
  'content_policy_violation',
  'invalid_parameter',
  'invalid_file_format',
  'context_length_exceeded',
  'output_length_exceeded',
  'service_unavailable',
]

const isPassedOn = (code: string | undefined): code is ErrorCode =>
  code !== undefined && code in errors && passedOn.includes(code as ErrorCode)

/**
 * Converts a provider failure into the error for a caller who waits for the response. A refused value is attributed to
 * the parameter `input`, because every other parameter was validated before, except for the voices of the provider.
 */
export const problemOf = (
  error: unknown,
  { model, input }: { model: string; input: 'input' | 'file' | 'messages' },
): unknown => {
  if (!(error instanceof ProviderFailure)) return error
  const { kind, code, forCaller, retryAfterMs, status } = error
  // Without the message, which may quote the caller.
  const detail = `provider: ${kind}${status === undefined ? '' : ` ${status}`}`
  const options = {
    cause: error,
    detail,
    ...(forCaller !== undefined && { message: forCaller }),
  }
  // The provider would list its own voices, which need not be those of the model.
  if (code === 'voice_not_supported') {
    return new ApiError(code, {
      ...{ cause: error, detail, param: input === 'messages' ? 'audio.voice' : 'voice' },
      message: `'${model}' cannot speak with this voice now. Choose another one from GET /v1/audio/voices.`,
    })
  }
  if (code === 'invalid_parameter') return new ApiError(code, { ...options, param: input })
  if (code === 'output_length_exceeded') {
    const message = forCaller ?? `The output would exceed the maximum length of '${model}'.`
    return new ApiError(code, { ...options, message })
  }
  if (isPassedOn(code)) return new ApiError(code, options)
  if (kind === 'moderated') return new ApiError('content_policy_violation', options)
  if (kind === 'busy') {
    const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 1000) / 1000))
    return new ApiError('model_overloaded', {
      ...options,
      message: forCaller ?? `'${model}' is overloaded at the moment. Try again in ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    })
  }
  const message = forCaller ?? `The provider of '${model}' failed. Nothing was charged.`
  // The vendor may have done the work, and would do and bill it again.
  const headers = kind === 'unknown' ? { 'x-should-retry': 'false' } : {}
  return new ApiError('upstream_error', { ...options, message, headers })
}

/** Response headers that name the engine, if the provider reports it. */
export const engineHeaders = (engine: Engine | undefined): Record<string, string> => ({
  ...(engine !== undefined && { 'x-engine': engine.name }),
  ...(engine?.wanted !== undefined && { 'x-engine-wanted': engine.wanted }),
})
