/**
 * Bundles the command of the previous version: of the commit before this one, but not before the first version that can be
 * upgraded, or of the revision that `npm run prove:upgrade -- --from <revision>` names.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { TestProject } from 'vitest/node'

import { bundleCommand } from '../kit/bundle-command.ts'

export interface PreviousVersion {
  commit: string
  command: string
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The commit of the previous version and the path of its bundle, or why there is none. */
    previous: PreviousVersion | { problem: string }
  }
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const run = promisify(execFile)
const git = async (...words: string[]) => (await run('git', words, { cwd: root })).stdout.trim()

export const findCommit = async (revision: string): Promise<string> => {
  try {
    return await git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)
  } catch (error) {
    const isShallow = await git('rev-parse', '--is-shallow-repository').catch(() => 'no repository')
    const fix =
      isShallow === 'true'
        ? 'This clone is shallow: run `git fetch --unshallow`.'
        : 'A clone of the repository with its history is needed.'
    throw new Error(`The previous version, ${revision}, was not found. ${fix}`, { cause: error })
  }
}

/** Upgrades begin with the commit that added this migration. */
const firstMigration = 'gateway/migrations/0031-cells-in-ids.sql'

const findPrevious = async (): Promise<string> => {
  const parent = await findCommit('HEAD^1')
  const isUpgradable = await git('cat-file', '-e', `${parent}:${firstMigration}`).then(
    () => true,
    () => false,
  )
  return isUpgradable ? parent : findCommit('HEAD')
}

/** Uses the packages that are installed here, but the workspaces of the previous version. */
const linkPackages = async (directory: string): Promise<void> => {
  const installed = join(root, 'node_modules')
  const links = join(directory, 'node_modules')
  await mkdir(join(links, '@kinora'), { recursive: true })
  for (const name of await readdir(installed)) {
    if (name !== '@kinora' && name !== '.cache') await symlink(join(installed, name), join(links, name))
  }
  for (const name of await readdir(join(installed, '@kinora'))) {
    // The link is relative, so it leads to the workspace of the same tree.
    await symlink(await readlink(join(installed, '@kinora', name)), join(links, '@kinora', name))
  }
}

const hasSamePackages = async (directory: string): Promise<boolean> => {
  const [now, before] = await Promise.all(
    [root, directory].map((each) => readFile(join(each, 'package-lock.json'), 'utf8')),
  )
  return now === before
}

export default async (project: TestProject) => {
  const from = process.env['UPGRADE_FROM']
  const commit = await (from === undefined ? findPrevious() : findCommit(from)).catch((error: Error) => {
    // An error here would end the tests of all projects.
    project.provide('previous', { problem: error.message })
  })
  if (commit === undefined) return undefined
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'kinora-previous-')))
  const remove = () => rm(directory, { recursive: true, force: true })
  try {
    const archive = join(directory, 'previous.tar')
    await git('archive', '--format=tar', `--output=${archive}`, commit)
    await run('tar', ['-xf', archive, '-C', directory])
    if (await hasSamePackages(directory)) await linkPackages(directory)
    else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory })
    project.provide('previous', {
      commit,
      command: await bundleCommand(`${directory}/`, join(directory, 'dist')),
    })
    return remove
  } catch (error) {
    await remove()
    throw error
  }
}
