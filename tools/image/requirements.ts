/** What a machine needs to build and run the images. It is checked first, because the work itself takes minutes. */
import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { join } from 'node:path'

/** The packages of Debian with the programs. */
const programs: Record<string, string> = {
  podman: 'podman',
  buildah: 'buildah',
  runc: 'runc',
  catatonit: 'catatonit',
  mmdebstrap: 'mmdebstrap',
  ffprobe: 'ffmpeg',
  netavark: 'netavark',
  'aardvark-dns': 'aardvark-dns',
  // Of netavark, for published ports.
  iptables: 'iptables',
}
/** Podman keeps the programs of its networks here, and catatonit. */
const podmanFolders = ['/usr/lib/podman', '/usr/libexec/podman']
const freeBytesMin = 12 * 1024 ** 3

export interface Machine {
  path: string
  userId: number | undefined
  /** Where images and files are made. */
  directory: string
}

const isProgram = (file: string) =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  )

/** Everything that the machine lacks, each with its fix; empty if nothing is missing. */
export const findMissing = async (
  { path, userId, directory }: Machine,
  more: Record<string, string> = {},
): Promise<string[]> => {
  const folders = [...path.split(':'), ...podmanFolders]
  const packages = new Set<string>()
  for (const [program, name] of Object.entries({ ...programs, ...more })) {
    const found = await Promise.all(folders.map((folder) => isProgram(join(folder, program))))
    if (!found.includes(true)) packages.add(name)
  }
  const { bavail, bsize } = await statfs(directory)
  return [
    ...(userId === 0 ? [] : ['root: run it with sudo']),
    ...(packages.size === 0 ? [] : [`programs: apt-get install ${[...packages].join(' ')}`]),
    ...(bavail * bsize >= freeBytesMin
      ? []
      : [
          `disk space: ${directory} has ${(bavail * bsize) / 1024 ** 3} GiB free of ${freeBytesMin / 1024 ** 3} needed`,
        ]),
  ]
}

/** Ends the process if the machine lacks something. */
export const assertMachine = async (more: Record<string, string> = {}): Promise<void> => {
  const missing = await findMissing(
    {
      path: process.env['PATH'] ?? '',
      userId: process.getuid?.(),
      directory: process.env['TMPDIR'] ?? '/tmp',
    },
    more,
  )
  if (missing.length === 0) return
  process.stdout.write(`This machine lacks:\n${missing.map((each) => `  - ${each}\n`).join('')}`)
  process.exit(1)
}
