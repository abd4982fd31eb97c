import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

import { expect, test } from 'vitest'

import { createConnectionLimit } from './connection-limits.ts'

/** As much of a socket as is looked at. */
const from = (remoteAddress: string) =>
  Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket

test('an address whose connections are terminated repeatedly is blocked for a while; others are not', () => {
  let nowMs = 0
  const { admit, cutOff } = createConnectionLimit({
    perAddress: 100,
    total: 1_000,
    isTrustedProxy: (address) => address === '192.0.2.9',
    nowMs: () => nowMs,
  })
  for (let count = 0; count < 10; count += 1) {
    expect(admit(from('192.0.2.1'))).toBeUndefined()
    cutOff(from('192.0.2.1'))
    cutOff(from('192.0.2.9'))
  }
  expect(admit(from('192.0.2.1'))).toBe('too_many_from_address')
  expect(admit(from('192.0.2.2'))).toBeUndefined()
  expect(admit(from('192.0.2.9'))).toBeUndefined()
  nowMs = 9_999
  expect(admit(from('192.0.2.1'))).toBe('too_many_from_address')
  nowMs = 10_000
  expect(admit(from('192.0.2.1'))).toBeUndefined()
})
