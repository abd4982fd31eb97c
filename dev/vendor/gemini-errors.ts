import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson, hasBearer } from './answer-json.ts'

const codesByStatus: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

/** This vendor has few error codes; the message has the details. */
export function errorOf(status: number, code: string) {
  if (code === 'content_policy_violation') {
    const message = 'The prompt could not be submitted because it violates our usage guidelines.'
    return { code: status, status: 'INVALID_ARGUMENT', message }
  }
  if (/image/.test(code)) {
    return { code: status, status: 'INVALID_ARGUMENT', message: 'Unable to process input image.' }
  }
  const isCallerError = /invalid_(value|param|arg)|missing|unsupported/.test(code)
  const word = codesByStatus[status] ?? (isCallerError ? 'INVALID_ARGUMENT' : 'FAILED_PRECONDITION')
  return { code: status, status: word, message: 'The simulated vendor refuses.' }
}

export function refuseGemini(response: ServerResponse, status: number, code: string): void {
  answerJson(response, status, { error: errorOf(status, code) })
}

/** One API has its own key header, the other a bearer token. */
export function isKnown(request: IncomingMessage, url: URL, apiKey: string | undefined): boolean {
  if (url.pathname.startsWith('/v1/')) return hasBearer(request.headers.authorization, apiKey)
  const given = request.headers['x-goog-api-key']
  return apiKey === undefined ? given !== undefined : given === apiKey
}
