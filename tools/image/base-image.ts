/** Makes the base image of the Dockerfile, Debian with Node and npm, without access to an image registry. */
import { execFileSync } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { buildImage, podman } from './podman.ts'

export type Architecture = 'amd64' | 'arm64'

interface DebianOptions {
  /** What the image claims to be for. */
  architecture: Architecture
  /** What it is for, if that differs. */
  contents?: Architecture
  /** An archive of its files; undefined to make one. */
  archive: string | undefined
}

/** Imports Debian as an image. */
export const importDebian = async (
  tag: string,
  { architecture, contents = architecture, archive }: DebianOptions,
  directory: string,
): Promise<void> => {
  const path = archive ?? join(directory, `debian-${contents}.tar`)
  if (archive === undefined) {
    const packages = ['--variant=minbase', '--include=ca-certificates']
    execFileSync('mmdebstrap', ['--quiet', ...packages, `--architectures=${contents}`, 'trixie', path])
  }
  await podman('import', '--quiet', '--arch', architecture, path, tag)
}

/** Adds Node, of the architecture of the image, and the npm of this machine. */
export const buildNodeImage = async (
  tag: string,
  { debian, architecture, node }: { debian: string; architecture: Architecture; node: string },
  directory: string,
): Promise<void> => {
  const folder = join(directory, 'node')
  await mkdir(folder, { recursive: true })
  const npm = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  const files = {
    node,
    npm: join(npm, 'npm'),
    // A registry may be behind a proxy with a certificate of its own.
    'certificates.crt': '/etc/ssl/certs/ca-certificates.crt',
  }
  for (const [name, source] of Object.entries(files))
    await cp(source, join(folder, name), { recursive: true, dereference: true })
  await writeFile(
    join(folder, 'Dockerfile'),
    [
      `FROM ${debian}`,
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
      'COPY certificates.crt /etc/ssl/certs/ca-certificates.crt',
      'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt',
    ].join('\n'),
  )
  // A layer from the cache would keep the architecture that it was made for.
  await buildImage(tag, folder, ['--arch', architecture, '--no-cache'])
}
