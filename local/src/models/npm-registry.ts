import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { NoAnswer } from './download.ts'

const run = promisify(execFile)
const askWithinMs = 15_000
const mostMetadataBytes = 1_000_000

/** The registry that npm is set up to use on this machine; packages are looked for there and nowhere else. */
export async function configuredRegistry(): Promise<string> {
  const answer = await run('npm', ['config', 'get', 'registry'], { timeout: askWithinMs }).catch(
    () => undefined,
  )
  const url = answer?.stdout.trim() ?? ''
  if (URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new Error('npm does not say which registry it uses: say it with MODEL_REGISTRY_URL')
}

const announcedAddress = async (chunks: AsyncIterable<Buffer>): Promise<string | undefined> => {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of chunks) {
    bytes += piece.length
    if (bytes > mostMetadataBytes) return undefined
    pieces.push(piece)
  }
  const { dist } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { dist?: { tarball?: unknown } }
  const address = dist?.tarball
  return typeof address === 'string' && /^https?:/.test(address) ? address : undefined
}

/**
 * Where a package's tarball may be had: where the registry says, and where it usually is, in case the registry is a
 * proxy and names a host that cannot be reached from here. What the registry says of its hash is of no use to us,
 * because we know each file's own.
 */
export async function tarballAddresses(
  registryUrl: string,
  name: string,
  version: string,
  fetch: (url: string) => AsyncIterable<Buffer>,
): Promise<string[]> {
  const usual = `${registryUrl}/${name}/-/${name.slice(name.lastIndexOf('/') + 1)}-${version}.tgz`
  try {
    const announced = (await announcedAddress(fetch(`${registryUrl}/${name}/${version}`))) ?? usual
    return announced === usual ? [usual] : [announced, usual]
  } catch (error) {
    if (error instanceof NoAnswer) throw error
    return [usual]
  }
}
