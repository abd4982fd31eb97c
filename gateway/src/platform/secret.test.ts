import { format, inspect } from 'node:util'

import { expect, test } from 'vitest'

import { Secret } from './secret.ts'

test('a secret is never shown', () => {
  const secret = new Secret('hunter2')
  expect(secret.reveal()).toBe('hunter2')
  const shown = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true }),
    format('%o %s', secret, secret),
  ]
  for (const text of shown) {
    expect(text).toContain('[secret]')
    expect(text).not.toContain('hunter2')
  }
  expect(Object.keys(secret)).toEqual([])
})
