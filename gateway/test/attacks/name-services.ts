/**
 * What an attack with slow names needs: a DNS server that ignores some names, and a server that is both a vendor and a host
 * of images. Its name is looked up for each of its connections.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Environment } from '../../src/config.ts'
import { runWith } from '../faults/mutation.ts'
import { pixelBytes } from '../kit/answers.ts'
import { serveDns, type DnsServer } from '../kit/dns-server.ts'
import type { Probe } from './probes.ts'
import { slowDomain } from './slow-names.ts'

const speechModel = 'chat-4o-mini-tts-2025-12-15'
const ignoreSlowNames = (name: string) => (name.endsWith(`.${slowDomain}`) ? undefined : [])

export interface NameServices extends AsyncDisposable {
  environment: Environment
  /** A call to the vendor, an image of the host, and an image of a name that does not exist. */
  probesOf: (apiPort: number, key: string) => Probe[]
}

export const startNameServices = async (directory: string): Promise<NameServices> => {
  const dns = await serveDns(ignoreSlowNames)
  const speech = Buffer.alloc(5_000, 1)
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isImage = request.method === 'GET'
      const type = isImage ? 'image/png' : 'audio/mpeg'
      response
        .writeHead(200, { 'content-type': type, connection: 'close' })
        .end(isImage ? pixelBytes : speech)
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  const providersFile = join(directory, 'name-providers.yaml')
  const vendor = { kind: 'openai', baseUrl: `${origin}/v1`, apiKey: 'vendor-key-of-tests' }
  await writeFile(
    providersFile,
    JSON.stringify({
      providers: { local: { kind: 'local' }, vendor },
      models: { [speechModel]: { routes: [{ provider: 'vendor' }] } },
    }),
  )
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const quote = (image: string) => Buffer.from(JSON.stringify({ ...order, input_reference: image }))
  return {
    environment: {
      PROVIDERS_FILE: providersFile,
      FETCH_ALLOW_ORIGINS: origin,
      FETCH_DNS_SERVERS: dns.server,
    },
    probesOf: (apiPort, key) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
      const often = { perSecond: 5, enoughMs: 100, method: 'POST', headers } as const
      const quotePath = '/v1/videos?dry_run=true'
      return [
        {
          ...{ ...often, name: 'vendor call', path: '/v1/audio/speech' },
          body: Buffer.from(JSON.stringify({ model: speechModel, voice: 'alloy', input: 'Hello' })),
        },
        { ...often, name: 'image', path: quotePath, body: quote(`${origin}/image.png`) },
        {
          ...{ name: 'unknown name', perSecond: 5, enoughMs: 100 },
          work: async () => {
            const response = await fetch(`http://127.0.0.1:${apiPort}${quotePath}`, {
              ...{ method: 'POST', headers },
              body: quote('http://nothing.example/image.png'),
            })
            const { error } = (await response.json()) as { error?: { code?: string } }
            if (error?.code !== 'invalid_image') throw new Error(`got ${error?.code}`)
          },
        },
      ]
    },
    [Symbol.asyncDispose]: async () => {
      server.close().closeAllConnections()
      await dns[Symbol.asyncDispose]()
    },
  }
}

export interface SystemLookups extends AsyncDisposable {
  /** The command line of a role whose callers' names are looked up by the system, at the DNS server of this file. */
  line: [string, ...string[]]
  environment: Environment
}

const program = fileURLToPath(new URL('../../../cli/src/kinora.ts', import.meta.url))
const mutation = {
  file: 'safe-fetch/safe-fetch.ts',
  find: '(isExempt ? lookUpHost : queryDns)',
  replace: 'lookUpHost',
}
const inMountNamespace = ['unshare', '--user', '--map-root-user', '--mount'] as const

/** Undefined if this user may not open port 53, the only one that the system asks, or may not create namespaces. */
export const startSystemLookups = async (directory: string): Promise<SystemLookups | undefined> => {
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.53`
  const [unshare, ...options] = inMountNamespace
  if (spawnSync(unshare, [...options, 'true']).status !== 0) return undefined
  let dns: DnsServer
  try {
    dns = await serveDns(ignoreSlowNames, { host, port: 53 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    return undefined
  }
  const resolverFile = join(directory, 'resolv.conf')
  await writeFile(resolverFile, `nameserver ${host}\n`)
  const { execArguments, environment } = runWith(mutation)
  const mountAndRun = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
  return {
    line: [
      ...inMountNamespace,
      ...['sh', '-c', mountAndRun, resolverFile],
      ...[process.execPath, ...execArguments, program],
    ],
    environment,
    [Symbol.asyncDispose]: () => dns[Symbol.asyncDispose](),
  }
}
