import { expect, test } from 'vitest'

import { matchMetadata } from './match-metadata.ts'

test('there is one statement for any number of keys', () => {
  const textOf = (count: number) => {
    const values: unknown[] = ['an earlier value']
    const filter = Array.from({ length: count }, (_, index) => [`key${index}`, 'value'] as const)
    const conditions = matchMetadata('t.metadata', filter, values)
    return { conditions, parameters: values.length }
  }
  expect(textOf(0)).toEqual({ conditions: [], parameters: 1 })
  expect(textOf(1)).toMatchObject({ conditions: [expect.stringContaining('$2::text[], $3::text[]')] })
  expect(textOf(16)).toEqual(textOf(1))
})
