/**
 * The services of `kinora init` behind Caddy with TLS, as customers and operators see them: limits per address of a customer,
 * the admin API out of reach, the documented first steps, and a video.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { runParameters, type Service } from './compose-service.ts'
import { podman, prefix, runOptions } from './podman.ts'

export const publicName = 'media.test'
/** Customers are on a network of their own, on which the proxy is too. */
export const customersNetwork = `${prefix}-customers`
/** Small, so that a customer reaches it soon. */
export const addressLimit = 120

interface ProxyProof {
  root: string
  work: string
  directory: string
  publicUrl: string
  adminUrl: string
  api: Service
  /** The image with Node. */
  nodeImage: string
  step: <Value>(title: string, run: () => Promise<Value>) => Promise<Value>
  say: (text: string) => void
}

const expect = (what: string, found: unknown, wanted: unknown) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
}

export const createProxyProof = ({
  root,
  work,
  directory,
  publicUrl,
  adminUrl,
  api,
  nodeImage,
  step,
  say,
}: ProxyProof) => {
  const authority = join(work, 'authority')
  const trust = ['--volume', `${authority}:/authority:ro`, '--env', 'NODE_EXTRA_CA_CERTS=/authority/root.crt']

  /** The certificate of Caddy's own authority, which customers of this proof trust. */
  const readAuthority = async () => {
    await mkdir(authority, { recursive: true })
    const path = '/data/caddy/pki/authorities/local/root.crt'
    await writeFile(join(authority, 'root.crt'), await podman('exec', `${prefix}-proxy`, 'cat', path))
  }

  /** Runs a command of customer.ts in a new container, whose address is this one. */
  const asCustomer = async (address: string, command: string, key: string, given = ''): Promise<unknown> => {
    const output = await podman(
      ...['run', '--rm', ...runOptions, '--network', `${customersNetwork}:ip=${address}`, ...trust],
      ...['--volume', `${root}:/source:ro`, '--entrypoint', 'node', nodeImage],
      ...['/source/tools/image/customer.ts', command, publicUrl, key, given],
    )
    return JSON.parse(output) as unknown
  }

  /** `docker compose run --rm api …`: the same container, but for its ports. */
  const runApi = async (...command: string[]): Promise<string> => {
    const { ports: _ports, ...service } = api
    const parameters = runParameters('api-command', service, directory)
    return podman('run', '--rm', ...runOptions, ...parameters, ...trust, api.image, ...command)
  }

  return {
    readAuthority,
    createOperatorKey: async () => {
      const [key = ''] = (await runApi('admin', 'create')).split('\n')
      return key
    },
    prove: async (key: string, operatorKey: string) => {
      await step('a customer makes a video through TLS', async () => {
        say(`  ${JSON.stringify(await asCustomer('10.87.0.11', 'video', key))}`)
      })
      await step('the limit per address is that of each customer, whatever address they claim', async () => {
        const count = String(addressLimit + 30)
        const first = (await asCustomer('10.87.0.12', 'flood', key, count)) as Record<string, number>
        expect('the statuses of a flood', first, { 200: addressLimit, 429: 30 })
        expect('another customer meanwhile', await asCustomer('10.87.0.13', 'status', key, '/v1/models'), 200)
        expect('the first customer', await asCustomer('10.87.0.12', 'status', key, '/v1/models'), 429)
      })
      await step('the admin API is out of reach of the public URL', async () => {
        const path = '/admin/v1/accounts'
        expect('through the proxy', await asCustomer('10.87.0.14', 'status', operatorKey, path), 404)
        const { status } = await fetch(`${adminUrl}${path}`, {
          headers: { authorization: `Bearer ${operatorKey}` },
        })
        expect('on the admin port of the machine', status, 200)
      })
      await step('doctor finds nothing wrong', async () => {
        const { checks } = JSON.parse(await runApi('doctor', '--json')) as {
          checks: { name: string; state: string; detail: string }[]
        }
        const problems = checks.filter(({ state }) => state === 'failed' || state === 'warning')
        // The proof makes no backup.
        expect(
          'problems',
          problems.map(({ name }) => name),
          ['backup'],
        )
        say(
          `  ${checks
            .filter(({ state }) => state === 'ok')
            .map(({ name }) => name)
            .join(', ')}`,
        )
      })
    },
  }
}
