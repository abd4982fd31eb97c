import { ApiError } from '@kinora/contract/errors'
import pg from 'pg'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'

import { ProviderFailure } from '../providers/port/failure.ts'
import { DescribedFailure, describeError, reduceError, summarizeError } from './describe-error.ts'
import { logOptions } from './log.ts'

const planted = 'planted whale'

const databaseError = () =>
  Object.assign(new pg.DatabaseError(`invalid input syntax for type uuid: "${planted}"`, 1, 'error'), {
    ...{ code: '23505', severity: 'ERROR', table: 'characters', constraint: 'characters_username' },
    ...{ detail: `Key (username)=(${planted}) already exists.`, where: planted, internalQuery: planted },
    hint: planted,
  })

const multiline = () => new Error(`${planted}\n    at ${planted} (/app/planted.ts:1:1)\n${planted}`)

const errors = {
  'of the database': databaseError(),
  'of a provider': new ProviderFailure('rejected', `submit answered 400: ${planted}`, { status: 400 }),
  'of the API': new ApiError('invalid_parameter', { message: planted, param: planted, cause: multiline() }),
  'with lines that look like frames': multiline(),
  'with fields of a library': Object.assign(new TypeError(planted), {
    ...{
      input: planted,
      url: planted,
      data: { prompt: planted },
      responseBody: planted,
      spawnargs: [planted],
    },
    code: `${planted} `,
  }),
  'whose message was changed': Object.assign(new Error(`first ${planted}`), { message: 'another' }),
  'with a cause and several errors': new AggregateError([multiline()], planted, { cause: databaseError() }),
  'that is no error': { toString: () => planted },
  'that is a text': planted,
}

describe.each(Object.entries(errors))('an error %s', (_, error) => {
  test('is logged without its texts', () => {
    const lines: string[] = []
    const log = pino({ ...logOptions('trace', 'test') }, { write: (line) => void lines.push(line) })
    log.error({ err: error }, 'it.failed')
    log.error({ err: error })
    log.error(error)
    if (error instanceof Error) {
      expect(lines).toHaveLength(3)
      expect(lines.join('')).not.toContain('planted')
    } else expect(lines.slice(0, 2).join('')).not.toContain('planted')
    expect(summarizeError(error)).not.toContain('planted')
    const reduced = reduceError(error)
    expect(`${reduced.message}${reduced.stack}`).not.toContain('planted')
    expect(reduced.cause).toBeUndefined()
  })
})

test('keeps types, codes, names of the schema, and the places in the code', () => {
  expect(describeError(errors['of the database'])).toEqual({
    ...{ type: 'DatabaseError', code: '23505', severity: 'ERROR' },
    ...{ table: 'characters', constraint: 'characters_username' },
    stack: expect.stringMatching(/at databaseError .*describe-error\.test\.ts:\d+:\d+/),
  })
  expect(describeError(errors['of a provider'])).toMatchObject({
    ...{ type: 'ProviderFailure', kind: 'rejected', status: 400 },
  })
  expect(describeError(new ApiError('service_unavailable', { detail: 'disk: ENOSPC' }))).toMatchObject({
    ...{ type: 'ApiError', code: 'service_unavailable', detail: 'disk: ENOSPC' },
  })
  expect(describeError(new Error('Query read timeout'))).toMatchObject({ message: 'Query read timeout' })
  expect(describeError(errors['with a cause and several errors'])).toMatchObject({
    ...{ type: 'AggregateError', cause: { code: '23505' }, errors: [{ type: 'Error' }] },
  })
})

test('summarises an error in one line, and again the same', () => {
  expect(summarizeError(errors['of the database'])).toBe('DatabaseError 23505 characters_username')
  expect(summarizeError(errors['of a provider'])).toBe('ProviderFailure rejected 400')
  expect(summarizeError(new Error(planted))).toMatch(/^Error at .*describe-error\.test\.ts:\d+:\d+/)
  const reduced = reduceError(errors['of the database'])
  expect(reduced).toBeInstanceOf(DescribedFailure)
  expect(reduceError(reduced).message).toBe(reduced.message)
})
