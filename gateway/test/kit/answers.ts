/** Calls to a gateway and what a test expects of their answers. */
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
    headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...(init.headers as Record<string, string>) },
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) }
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

/** Exactly the table's status and type, this code, this param or none, and the id of the request. */
export const expectProblem = (answer: Answer, code: ErrorCode, param?: string): void => {
  expect(answer.body).toEqual({
    error: { message: expect.any(String), type: errors[code].type, code, ...(param !== undefined && { param }) },
  })
  expect(answer.status).toBe(errors[code].status)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f-]{36}$/)
}

/** A picture small enough to write down: one white pixel as PNG. */
export const pixel = new Blob(
  [
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==',
      'base64',
    ),
  ],
  { type: 'image/png' },
)
