import { Socket } from 'node:net'

import { expect, test } from 'vitest'

import { createForwardedFor } from './forwarded-for.ts'

const start = () => {
  const clock = { ms: 0 }
  const peers: unknown[] = []
  const forwardedFor = createForwardedFor(
    ['10.9.0.0/16', '::1'],
    { warn: (fields: { peer: string }) => void peers.push(fields.peer) } as never,
    () => clock.ms,
  )
  const from = (remoteAddress: string, headers = { 'x-forwarded-for': '203.0.113.7' }) =>
    forwardedFor({
      headers,
      socket: Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress }),
    })
  return { clock, peers, from }
}

test('the header of a trusted proxy counts, without a warning', () => {
  const { peers, from } = start()
  for (const peer of ['10.9.4.1', '::ffff:10.9.4.1', '::1']) expect(from(peer)).toBe('trusted')
  expect(from('192.0.2.1', {} as never)).toBe('absent')
  expect(peers).toEqual([])
})

test('each other peer is warned about once, and again after an hour', () => {
  const { clock, peers, from } = start()
  for (const peer of ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.2']) expect(from(peer)).toBe('ignored')
  expect(peers).toEqual(['192.0.2.1', '192.0.2.2'])
  clock.ms = 3_599_999
  from('192.0.2.1')
  expect(peers).toHaveLength(2)
  clock.ms = 3_600_000
  from('192.0.2.1')
  expect(peers).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.1'])
})

test('many peers cannot fill the log', () => {
  const { peers, from } = start()
  for (let number = 0; number < 10_000; number += 1) from(`192.0.${number >> 8}.${number & 255}`)
  expect(peers).toHaveLength(20)
})
