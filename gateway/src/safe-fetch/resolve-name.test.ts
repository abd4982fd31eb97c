import { lookup } from 'node:dns/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { describe, expect, it } from 'vitest'

import { serveDns } from '../../test/kit/dns-server.ts'
import { createSafeFetch } from './safe-fetch.ts'

const limits = { sizeBytesMax: 1_000 }
/** More than the threads that Node has for names and files. */
const namesMany = 12

describe('a name that a caller chose', () => {
  it('does not delay other lookups of the process, however slowly its DNS server responds', async () => {
    await using dns = await serveDns(() => undefined)
    const safeFetch = createSafeFetch({ allowOrigins: [], dnsServers: [dns.server] })
    const gone = new AbortController()
    let settled = 0
    const opened = Array.from({ length: namesMany }, (_, index) =>
      safeFetch.open(`http://name-${index}.example.com/`, { ...limits, signal: gone.signal }).catch(() => {
        settled += 1
      }),
    )
    await expect.poll(() => new Set(dns.asked).size).toBe(namesMany)
    expect(await lookup('localhost', { all: true })).not.toEqual([])
    expect(settled).toBe(0)
    gone.abort(new Error('the client disconnected'))
    await Promise.all(opened)
    expect(settled).toBe(namesMany)
  })

  it('is given up when its time is over', async () => {
    await using dns = await serveDns(() => undefined)
    const safeFetch = createSafeFetch({ allowOrigins: [], dnsServers: [dns.server], connectTimeoutMs: 50 })
    await expect(safeFetch.open('http://slow.example.com/', limits)).rejects.toMatchObject({
      reason: 'timeout',
    })
  })

  it.each([
    ['A', ['93.184.215.14', '10.0.0.1'], []],
    ['AAAA', ['93.184.215.14'], ['2606:2800:21f:cb07::1', 'fd00::1']],
    ['AAAA that is a mapped IPv4 address', ['93.184.215.14'], ['::ffff:7f00:1']],
  ])('is blocked if one of its addresses is private: %s', async (_record, ipv4, ipv6) => {
    await using dns = await serveDns((_name, family) => (family === 4 ? ipv4 : ipv6))
    const safeFetch = createSafeFetch({ allowOrigins: [], dnsServers: [dns.server] })
    await expect(safeFetch.open('http://media.example.com/', limits)).rejects.toMatchObject({
      reason: 'blocked',
    })
  })

  it('is usable with the addresses of one family, if the other one does not exist or does not come', async () => {
    await using dns = await serveDns((name, family) => {
      if (family === 4) return ['127.0.0.1']
      return name.startsWith('silent') ? undefined : []
    })
    const safeFetch = createSafeFetch({ allowOrigins: [], dnsServers: [dns.server], connectTimeoutMs: 200 })
    for (const name of ['silent.example.com', 'absent.example.com']) {
      // It got an address, which is private.
      await expect(safeFetch.open(`http://${name}/`, limits)).rejects.toMatchObject({ reason: 'blocked' })
    }
  })

  it('is unreachable if it does not exist', async () => {
    await using dns = await serveDns(() => [])
    const safeFetch = createSafeFetch({ allowOrigins: [], dnsServers: [dns.server] })
    await expect(safeFetch.open('http://media.example.com/', limits)).rejects.toMatchObject({
      reason: 'unreachable',
    })
    expect(dns.asked).toContain('media.example.com')
  })
})

describe('the name of an allowed origin', () => {
  it('is looked up by the system, with its hosts file', async () => {
    await using dns = await serveDns(() => [])
    const server = createServer((_request, response) => response.end('ours')).listen(0, 'localhost')
    await expect.poll(() => server.listening).toBe(true)
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`
    const safeFetch = createSafeFetch({ allowOrigins: [origin], dnsServers: [dns.server] })
    expect(await text((await safeFetch.open(origin, limits)).stream)).toBe('ours')
    expect(dns.asked).toEqual([])
    server.close().closeAllConnections()
  })
})
