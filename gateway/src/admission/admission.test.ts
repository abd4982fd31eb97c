import { ApiError } from '@kinora/contract/errors'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { createAdmission, resources, type AdmissionLimits, type Client } from './admission.ts'

const limitsOf = (address: number, key: number, account: number, total: number): AdmissionLimits => {
  const scopes = { address, key, account, total }
  return { requests: scopes, uploads: scopes, bodyBytes: scopes, spoolBytes: scopes }
}

const client = (address: number, account: number, key: number): Client => ({
  address: `192.0.2.${address}`,
  accountId: `account ${account}`,
  keyId: `key ${account} ${key}`,
})

const codeOf = (work: () => void): string => {
  try {
    work()
    return 'admitted'
  } catch (error) {
    return error instanceof ApiError ? error.code : 'not an ApiError'
  }
}

test('each scope has its own limit, and other addresses, keys and accounts are not affected', () => {
  const admission = createAdmission(limitsOf(3, 1, 2, 100))
  admission.open(client(1, 1, 1)).take('requests', 1)
  expect(codeOf(() => admission.open(client(2, 1, 1)).take('requests', 1))).toBe('rate_limit_exceeded')
  admission.open(client(1, 1, 2)).take('requests', 1)
  expect(codeOf(() => admission.open(client(2, 1, 3)).take('requests', 1))).toBe('rate_limit_exceeded')
  admission.open(client(1, 2, 1)).take('requests', 1)
  expect(codeOf(() => admission.open(client(1, 3, 1)).take('requests', 1))).toBe('rate_limit_exceeded')
  expect(codeOf(() => admission.open(client(2, 3, 1)).take('requests', 1))).toBe('admitted')
})

test('addresses of one IPv6 /64 share a limit', () => {
  const admission = createAdmission(limitsOf(1, 9, 9, 100))
  admission.open({ address: '2001:db8::1' }).take('requests', 1)
  expect(codeOf(() => admission.open({ address: '2001:db8::2' }).take('requests', 1))).toBe(
    'rate_limit_exceeded',
  )
  expect(codeOf(() => admission.open({ address: '2001:db8:0:1::1' }).take('requests', 1))).toBe('admitted')
})

test('a tenth of every total is reserved for operators, independent of their address', () => {
  const admission = createAdmission(limitsOf(10, 10, 10, 10))
  for (let index = 0; index < 9; index += 1) admission.open(client(1, 1, 1)).take('uploads', 1)
  expect(codeOf(() => admission.open(client(2, 2, 2)).take('uploads', 1))).toBe('service_unavailable')
  const operator = { address: '192.0.2.1', keyId: 'operator', isOperator: true }
  expect(codeOf(() => admission.open(operator).take('uploads', 1))).toBe('admitted')
})

test('a refused request acquires nothing', () => {
  const admission = createAdmission(limitsOf(10, 10, 5, 100))
  const ticket = admission.open(client(1, 1, 1))
  expect(codeOf(() => ticket.take('bodyBytes', 6))).toBe('service_unavailable')
  expect(admission.inFlight('bodyBytes')).toBe(0)
  ticket.take('bodyBytes', 5)
  expect(admission.inFlight('bodyBytes')).toBe(5)
})

test('no sequence of acquiring and releasing exceeds a limit or leaks a resource', () => {
  const step = fc.record({
    address: fc.nat(2),
    account: fc.nat(2),
    key: fc.nat(1),
    resource: fc.constantFrom(...resources),
    amount: fc.integer({ min: 1, max: 7 }),
    ending: fc.constantFrom('keep', 'release', 'close'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const admission = createAdmission(limitsOf(12, 8, 10, 30))
      const sums = new Map<string, number>()
      const tickets = steps.map(({ address, account, key, resource, amount, ending }) => {
        const ticket = admission.open(client(address, account, key))
        const isAdmitted = codeOf(() => ticket.take(resource, amount)) === 'admitted'
        if (ending === 'release') ticket.release(resource)
        if (ending === 'close') ticket.close()
        if (isAdmitted && ending === 'keep') {
          for (const [scope, limit] of [
            [`address ${address}`, 12],
            [`key ${account} ${key}`, 8],
            [`account ${account}`, 10],
            ['total', 27],
          ] as const) {
            const sum = (sums.get(`${resource} ${scope}`) ?? 0) + amount
            sums.set(`${resource} ${scope}`, sum)
            expect(sum).toBeLessThanOrEqual(limit)
          }
        }
        return ticket
      })
      for (const resource of resources) {
        expect(admission.inFlight(resource)).toBe(sums.get(`${resource} total`) ?? 0)
      }
      for (const ticket of tickets) {
        ticket.close()
        // A handler that goes on after its request is over holds nothing.
        ticket.take('spoolBytes', 1)
      }
      for (const resource of resources) expect(admission.inFlight(resource)).toBe(0)
    }),
  )
})
