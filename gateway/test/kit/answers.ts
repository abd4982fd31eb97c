/** Calls to a gateway, and assertions on their responses. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'

import { errors, type ErrorCode } from '@kinora/contract/errors'
import { expect } from 'vitest'

export interface Answer {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

export const ask = async (url: string, key: string | undefined, init: RequestInit = {}): Promise<Answer> => {
  const response = await fetch(url, {
    ...init,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(init.headers as Record<string, string>),
    },
  })
  const text = await response.text()
  const isFile = /^(video|image)\//.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' || isFile ? {} : (JSON.parse(text) as Answer['body']),
  }
}

/** A form with the given fields; a value may be a file. */
export const form = (fields: Record<string, string | Blob>): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') data.append(name, value)
    else data.append(name, value, 'picture.png')
  }
  return data
}

const requestId = /^req_[0-9a-f-]{36}$/

/** The body of a response, or the data of an event, that has an error with this code and nothing else. */
export const errorBodyOf = (code: ErrorCode, expected: { code?: string } & Record<string, unknown> = {}) => ({
  error: {
    message: expect.any(String),
    type: errors[code].type,
    code,
    hint: errors[code].hint,
    doc_url: expect.stringMatching(new RegExp(`^https?://.*/docs/errors#${expected.code ?? code}$`)),
    request_id: expect.stringMatching(requestId),
    ...expected,
  },
})

/** An error body without what differs from request to request. */
export const withoutRequestId = (body: unknown) => {
  const { request_id: _, ...error } = (body as { error: Record<string, unknown> }).error
  return { error }
}

/** Expects exactly the status and type of the error table, this code, this param or none, and the request id. */
export const expectProblem = (answer: Answer, code: ErrorCode, param?: string): void => {
  const id = answer.headers.get('x-request-id')
  expect(id).toMatch(requestId)
  expect(answer.body).toEqual(errorBodyOf(code, { request_id: id, ...(param !== undefined && { param }) }))
  expect(answer.status).toBe(errors[code].status)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
}

export const askJson = (
  url: string,
  key: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
) =>
  ask(url, key, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** Writes raw bytes to the gateway; returns everything received until it closes the connection. */
export const askRaw = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += String(chunk)
    })
    socket.on('error', reject).on('close', () => resolve(text))
    socket.write(bytes)
  })

/** An address that only this run uses, because runs share a Redis for rate limits, which counts IPv6 by /64. */
export const randomAddress = () => `2001:db8:${randomBytes(4).toString('hex').replace(/^.{4}/, '$&:')}::1`

/** A small image: one white pixel as PNG. */
export const pixelBytes = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==',
  'base64',
)
export const pixel = new Blob([pixelBytes], { type: 'image/png' })
export const pixelUri = `data:image/png;base64,${pixelBytes.toString('base64')}`
