import type { ServerResponse } from 'node:http'

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

/** Writes an error in the OpenAI format. */
export function refuseJson(
  response: ServerResponse,
  status: number,
  code: string,
  param: string | null = null,
): void {
  const message = 'The simulated vendor refuses.'
  answerJson(response, status, { error: { code, param, type: 'invalid_request_error', message } })
}

/** Checks the bearer token; any is accepted if none is required. */
export function hasBearer(authorization: string | undefined, apiKey: string | undefined): boolean {
  const given = authorization ?? ''
  return apiKey === undefined ? /^Bearer \S/.test(given) : given === `Bearer ${apiKey}`
}
