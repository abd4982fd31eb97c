import { ApiError, errors } from '@kinora/contract/errors'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import { CommitOutcomeUnknown, DatabaseStalled, StatementTimeout } from '../platform/postgres-errors.ts'
import { apiErrorOf, createErrorWriter, sendProblem } from './error-response.ts'

const writeError = createErrorWriter('https://media.example', 'req_1')

const withCode = (code: string, message = 'broken') => Object.assign(new Error(message), { code })

test.each([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01',
  '57P03',
  '08006',
  '53300',
  '53100',
  '25006',
  '25P03',
  '55P03',
  '57014',
])('an unavailable database (%s) is a 503, not an internal error', (code) => {
  expect(apiErrorOf(withCode(code))).toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '1' },
  })
})

test.each(['ENOSPC', 'EDQUOT'])('a full disk (%s) is a 503, not an internal error', (code) => {
  expect(apiErrorOf(withCode(code))).toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '30' },
  })
})

test.each([
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  'Connection terminated unexpectedly',
  'Client has encountered a connection error and is not queryable',
])('an unavailable database (%s) is a 503', (message) => {
  expect(apiErrorOf(new Error(message)).code).toBe('service_unavailable')
})

test('a database that does not respond is a 503', () => {
  expect(apiErrorOf(new DatabaseStalled('the database does not respond')).code).toBe('service_unavailable')
})

test('an unknown outcome is a 503 that says so, although its cause is a timeout', () => {
  const error = new CommitOutcomeUnknown('not confirmed', { cause: new Error('Query read timeout') })
  expect(apiErrorOf(error)).toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('may have been carried out'),
    headers: { 'retry-after': '1' },
  })
})

test('a search that exceeds its timeout is a 400 on its time span', () => {
  expect(apiErrorOf(new StatementTimeout('a statement took longer than 10 ms'))).toMatchObject({
    code: 'invalid_parameter',
    param: 'from',
  })
})

test.each(['23505', '42P01', 'ENOENT'])('%s is an internal error', (code) => {
  expect(apiErrorOf(withCode(code)).code).toBe('internal_error')
})

test('every error becomes the one error object, without internal details', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.object(), fc.constant(undefined), fc.constant(null)), (thrown) => {
      const error = apiErrorOf(thrown ?? new Error('nothing'))
      const body = JSON.parse(writeError(error)) as { error: object }
      expect(Object.keys(body)).toEqual(['error'])
      expect(Object.keys(body.error).filter((name) => name !== 'param')).toEqual([
        'message',
        'type',
        'code',
        'hint',
        'doc_url',
        'request_id',
      ])
    }),
  )
  const secret = new ApiError('invalid_image', {
    param: 'images[0]',
    detail: 'for the log',
    cause: new Error('inside'),
  })
  expect(JSON.parse(writeError(secret))).toEqual({
    error: {
      message: 'The image is invalid.',
      type: 'invalid_request_error',
      code: 'invalid_image',
      param: 'images[0]',
      hint: errors.invalid_image.hint,
      doc_url: 'https://media.example/docs/errors#invalid_image',
      request_id: 'req_1',
    },
  })
})

test('a failed task keeps its own code, with the type and the hint of a similar error', () => {
  const similar = new ApiError('upstream_error', { message: 'Too late.' })
  expect(JSON.parse(writeError(similar, 'task_timeout'))).toEqual({
    error: {
      message: 'Too late.',
      type: 'server_error',
      code: 'task_timeout',
      hint: errors.upstream_error.hint,
      doc_url: 'https://media.example/docs/errors#task_timeout',
      request_id: 'req_1',
    },
  })
})

test.each([
  ['an aborted call', new DOMException('aborted', 'AbortError')],
  ['a body that was closed early', withCode('ERR_STREAM_PREMATURE_CLOSE', 'Premature close')],
])('%s is logged as a failure only if its client is still connected', (_case, error) => {
  const lines: { level: number }[] = []
  const log = pino({ level: 'trace' }, { write: (line) => lines.push(JSON.parse(line) as { level: number }) })
  const levelsFor = (destroyed: boolean) => {
    lines.length = 0
    const reply = {
      raw: { destroyed },
      status: () => reply,
      headers: () => reply,
      type: () => reply,
      send: () => reply,
    }
    sendProblem(log, '')(error, {} as FastifyRequest, reply as unknown as FastifyReply)
    return lines.map(({ level }) => level)
  }
  expect(levelsFor(true)).toEqual([])
  expect(levelsFor(false)).toEqual([50])
})
