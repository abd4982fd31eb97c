/** Which connections the NetworkPolicies of deploy/kubernetes allow: exactly those of the table. */
import { BlockList } from 'node:net'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { buildKustomization, type Manifest } from './kustomize.ts'
import { compose, root } from './manifests.ts'

interface Selector {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: 'In'; values: string[] }[]
}
interface Peer {
  podSelector?: Selector
  namespaceSelector?: Selector
  ipBlock?: { cidr: string; except: string[] }
}
interface Rule {
  from?: Peer[]
  to?: Peer[]
  ports?: { protocol: string; port: number }[]
}
interface Policy extends Manifest {
  spec: { podSelector: Selector; policyTypes: string[]; ingress?: Rule[]; egress?: Rule[] }
}

/** A pod, or a machine outside of the cluster. */
interface Endpoint {
  namespace?: string
  labels?: Record<string, string>
  address: string
}

const kubernetes = join(root, 'deploy/kubernetes')
const policies = ['base', 'local', 'restate', 'components/service-monitor', 'components/pull-models']
  .flatMap((directory) => buildKustomization(join(kubernetes, directory)))
  .filter((each): each is Policy => each.kind === 'NetworkPolicy')

const inNamespace = (component: string): Endpoint => ({
  namespace: 'kinora',
  labels: { 'app.kubernetes.io/name': 'kinora', 'app.kubernetes.io/component': component },
  address: '10.1.0.1',
})
const endpoints: Record<string, Endpoint> = {
  ...Object.fromEntries(
    ['api', 'worker', 'local', 'restate', 'pull-models'].map((name) => [name, inNamespace(name)]),
  ),
  postgres: {
    namespace: 'data',
    labels: { 'app.kubernetes.io/name': 'postgresql' },
    address: '10.1.0.2',
  },
  redis: { namespace: 'data', labels: { 'app.kubernetes.io/name': 'redis' }, address: '10.1.0.3' },
  dns: { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, address: '10.1.0.4' },
  monitoring: { namespace: 'monitoring', labels: { app: 'prometheus' }, address: '10.1.0.5' },
  other: { namespace: 'other', labels: { app: 'other' }, address: '10.1.0.6' },
  neighbor: { namespace: 'kinora', labels: { app: 'other' }, address: '10.1.0.7' },
  metadata: { address: '169.254.169.254' },
  internet: { address: '93.184.215.14' },
}
const ports = [53, 80, 443, 5122, 5432, 6379, 8080, 8787, 8788, 9070, 9180, 9190, 9464]

const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>) =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))

const contains = (cidr: string, address: string) => {
  const [network = '', prefix] = cidr.split('/')
  if (network.includes(':') !== address.includes(':')) return false
  const list = new BlockList()
  list.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4')
  return list.check(address)
}

const isPeer = (
  { podSelector, namespaceSelector, ipBlock }: Peer,
  { namespace, labels, address }: Endpoint,
) => {
  if (ipBlock !== undefined)
    return contains(ipBlock.cidr, address) && !ipBlock.except.some((cidr) => contains(cidr, address))
  if (namespace === undefined || labels === undefined) return false
  const isInNamespace =
    namespaceSelector === undefined
      ? namespace === 'kinora'
      : selects(namespaceSelector, { 'kubernetes.io/metadata.name': namespace })
  return isInNamespace && selects(podSelector ?? {}, labels)
}

/** Whether the policies of one side allow a connection. A pod that no policy selects is not isolated. */
const allows = (type: 'Ingress' | 'Egress', own: Endpoint, other: Endpoint, port: number): boolean => {
  const selecting = policies.filter(
    ({ spec }) =>
      own.namespace === 'kinora' &&
      spec.policyTypes.includes(type) &&
      selects(spec.podSelector, own.labels ?? {}),
  )
  if (selecting.length === 0) return true
  const rules = selecting.flatMap(({ spec }) => (type === 'Ingress' ? spec.ingress : spec.egress) ?? [])
  return rules.some((rule) => {
    const peers = type === 'Ingress' ? rule.from : rule.to
    const isPort = rule.ports === undefined || rule.ports.some((each) => each.port === port)
    return isPort && (peers === undefined || peers.some((peer) => isPeer(peer, other)))
  })
}

const ours = (name: string) => endpoints[name]?.labels?.['app.kubernetes.io/name'] === 'kinora'

/** Every allowed connection of our pods, as `from to: ports`. */
const flows = Object.keys(endpoints).flatMap((from) =>
  Object.keys(endpoints).flatMap((to) => {
    const [source, target] = [endpoints[from], endpoints[to]]
    if (source === undefined || target === undefined || from === to || !(ours(from) || ours(to))) return []
    const open = ports.filter(
      (port) => allows('Egress', source, target, port) && allows('Ingress', target, source, port),
    )
    return open.length === 0
      ? []
      : [`${from} ${to}: ${open.length === ports.length ? 'any' : open.join(' ')}`]
  }),
)

const table = [
  // Clients reach the API only; the admin API (8788) is not reachable.
  ...['postgres', 'redis', 'dns', 'other', 'neighbor', 'metadata', 'internet'].map(
    (client) => `${client} api: 8787`,
  ),
  ...['api local: 9190', 'api restate: 8080', 'api postgres: 5432', 'api redis: 6379', 'api dns: 53'],
  'api internet: any',
  ...['worker local: 9190', 'worker restate: 8080 9070', 'worker postgres: 5432', 'worker redis: 6379'],
  ...['worker dns: 53', 'worker internet: any'],
  ...['restate worker: 9180', 'restate dns: 53'],
  // components/service-monitor and components/pull-models
  ...['api', 'worker', 'local'].map((role) => `monitoring ${role}: ${role === 'api' ? '8787 9464' : '9464'}`),
  'monitoring restate: 5122',
  ...['pull-models dns: 53', 'pull-models internet: 443'],
]

test('the policies allow exactly the connections of the table', () => {
  expect(flows.toSorted()).toEqual(table.toSorted())
})

test('services that may connect share a network in compose.yaml', () => {
  const networksOf = (name: string) => compose.services[name]?.networks
  for (const flow of flows) {
    const [, from = '', to = ''] = /^(\S+) (\S+):/.exec(flow) ?? []
    const [source, target] = [networksOf(from), networksOf(to)]
    // Other endpoints, such as the internet, are not services.
    if (source === undefined || target === undefined) continue
    const shared = source.filter((network) => target.includes(network))
    expect({ flow, shared }).not.toEqual({ flow, shared: [] })
  }
})
