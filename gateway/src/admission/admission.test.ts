import { ApiError } from '@kinora/contract/errors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

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
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
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

describe('uploads over the total', () => {
  /** Uploads of an account that arrive at these rates; `aborted` lists the rates of those that were aborted. */
  const startAll = (admission: ReturnType<typeof createAdmission>, account: number, rates: number[]) => {
    const aborted: number[] = []
    const tickets = rates.map((rate) => {
      const ticket = admission.open(client(account, account, 1))
      const abort = (reason: ApiError) => {
        expect(reason).toMatchObject({ code: 'rate_limit_exceeded', headers: { 'retry-after': '5' } })
        aborted.push(rate)
      }
      return { ...ticket, arrived: ticket.beginUpload({ bytesPerSecond: () => rate, abort }) }
    })
    return { aborted, tickets }
  }

  test('abort the slowest upload of the account with the most, until the accounts have equally many', () => {
    const admission = createAdmission(limitsOf(99, 99, 99, 10))
    const most = startAll(admission, 1, [50, 10, 40, 20, 30])
    const some = startAll(admission, 2, [1, 1, 1, 1])
    const few = startAll(admission, 3, [5, 5])
    expect([most.aborted, some.aborted]).toEqual([[10, 20], []])
    startAll(admission, 3, [5])
    expect([most.aborted, some.aborted, few.aborted]).toEqual([[10, 20], [1], []])
    expect(codeOf(() => startAll(admission, 3, [5]))).toBe('service_unavailable')
    expect(admission.inFlight('uploads')).toBe(9)
  })

  test('do not abort an upload that has arrived, and not for an account above its own limit', () => {
    const admission = createAdmission(limitsOf(99, 99, 5, 10))
    const { tickets } = startAll(admission, 1, [1, 2, 3, 4])
    const [slow] = tickets
    slow?.arrived()
    const other = startAll(admission, 2, [1, 2, 3, 4, 5])
    const { aborted } = startAll(admission, 3, [1])
    expect([other.aborted, aborted]).toEqual([[1], []])
    expect(codeOf(() => startAll(admission, 1, [9, 9]))).toBe('service_unavailable')
    expect(codeOf(() => startAll(createAdmission(limitsOf(99, 99, 1, 1)), 1, [9, 9]))).toBe(
      'service_unavailable',
    )
  })

  test('must arrive faster the fuller the total is, if their account has many of them', () => {
    const admission = createAdmission(limitsOf(99, 99, 99, 100))
    const many = startAll(
      admission,
      1,
      Array.from({ length: 44 }, () => 1),
    ).tickets[0]
    const single = startAll(admission, 2, [1]).tickets[0]
    const small = admission.open(client(1, 1, 1))
    expect(many?.uploadRateFactor()).toBe(1)
    startAll(
      admission,
      1,
      Array.from({ length: 45 }, () => 1),
    )
    expect(many?.uploadRateFactor()).toBe(4)
    expect(single?.uploadRateFactor()).toBe(1)
    expect(small.uploadRateFactor()).toBe(1)
  })
})
