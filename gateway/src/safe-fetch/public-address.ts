import { BlockList, isIPv4, isIPv6 } from 'node:net'

/**
 * All ranges of the routable space that are not ordinary hosts on the public internet, from the
 * IANA special-purpose registries. Tunnels and translators (6to4, Teredo, local NAT64) are refused
 * completely: they hold no media, and each is another way to write a private address.
 */
const refusedIPv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Looks public, but inside Azure it is the platform's own metadata and health endpoint.
  ['168.63.129.16', 32],
] as const

/** For IPv6 only the allocated global block is public, minus these parts of it. */
const globalIPv6 = ['2000::', 3] as const

const refusedIPv6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const

const refused = new BlockList()
for (const [network, prefix] of refusedIPv4) refused.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of refusedIPv6) refused.addSubnet(network, prefix, 'ipv6')

const globalUnicast = new BlockList()
globalUnicast.addSubnet(...globalIPv6, 'ipv6')

/** Whether an IP address, as text without brackets, is an ordinary public host that we may connect to. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !refused.check(address, 'ipv4')
  // A zone is a local interface, so a zoned address is never public.
  if (!isIPv6(address) || address.includes('%')) return false
  const embedded = embeddedIPv4(address)
  if (embedded !== undefined) return isPublicAddress(embedded)
  return globalUnicast.check(address, 'ipv6') && !refused.check(address, 'ipv6')
}

/** Where clouds serve credentials and metadata to their machines: the link-local networks, and addresses beside them. */
const metadataRanges = [
  ['169.254.0.0', 16, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['168.63.129.16', 32, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
] as const

const metadata = new BlockList()
for (const [network, prefix, type] of metadataRanges) metadata.addSubnet(network, prefix, type)

/** Whether an IP address, as text without brackets, is link-local or serves metadata of a cloud. */
export function isLinkLocalAddress(address: string): boolean {
  if (isIPv4(address)) return metadata.check(address, 'ipv4')
  const [plain = ''] = address.split('%', 1)
  if (!isIPv6(plain)) return false
  const embedded = embeddedIPv4(plain)
  return embedded === undefined ? metadata.check(plain, 'ipv6') : isLinkLocalAddress(embedded)
}

/**
 * The IPv4 address that a connection to this IPv6 address really reaches: for the mapped form
 * (::ffff:0:0/96) and for the well-known NAT64 prefix (64:ff9b::/96), which IPv6-only networks
 * use to reach ordinary IPv4 hosts.
 */
function embeddedIPv4(address: string): string | undefined {
  const groups = groupsOf(address)
  const prefix = groups.slice(0, 6).join()
  if (prefix !== '0,0,0,0,0,65535' && prefix !== '100,65435,0,0,0,0') return undefined
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

/** The eight 16-bit groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser rewrites every spelling, dotted tails included, to one canonical form in hex.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = [], tail = []] = canonical
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))))
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}
