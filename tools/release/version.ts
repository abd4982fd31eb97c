/**
 * Raises the version of all packages by the files in `.changeset`, and writes it where else it appears. The changelog of the
 * command is that of the release; the other packages have none.
 *
 *   npm run release:version
 */
import { spawnSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'

import { readWorkspaces, versionPlaces } from './workspaces.ts'

/** Each program explains its own failure. */
const run = (program: string, ...parameters: string[]) => {
  const { status } = spawnSync('npm', ['exec', '--', program, ...parameters], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

run('changeset', 'version')
const { folders, version } = await readWorkspaces()
for (const folder of folders) {
  if (folder !== 'cli') await rm(`${folder}/CHANGELOG.md`, { force: true })
}
for (const { file, pattern } of versionPlaces) {
  await writeFile(file, (await readFile(file, 'utf8')).replace(pattern, version))
}
run('npm', 'install', '--package-lock-only')
run('oxfmt', 'cli/CHANGELOG.md', ...folders.map((folder) => `${folder}/package.json`))

console.log(`Version ${version}. Next:

  git commit --all --message "Release ${version}"
  git tag v${version}
  git push origin main v${version}`)
