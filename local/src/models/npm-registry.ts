import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { SourceUnreachable } from './download.ts'

const run = promisify(execFile)
const askWithinMs = 15_000
const mostMetadataBytes = 1_000_000

/** The registry that npm uses on this machine. Packages are only downloaded from there. */
export async function configuredRegistry(): Promise<string> {
  const answer = await run('npm', ['config', 'get', 'registry'], { timeout: askWithinMs }).catch(
    () => undefined,
  )
  const url = answer?.stdout.trim() ?? ''
  if (URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new Error('Could not read the registry from the npm configuration. Set MODEL_REGISTRY_URL.')
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
 * The addresses to try for a tarball: the one in the metadata, and the usual one in case the registry is a proxy whose
 * metadata names an unreachable host. The hash in the metadata is ignored, because the hash of each file is known.
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
    if (error instanceof SourceUnreachable) throw error
    return [usual]
  }
}
