/**
 * Publishes the tarballs that `npm run build -- --pack` has made. A package that the registry has is skipped, so that an
 * interrupted release can be repeated.
 *
 *   npm run release:publish -- v1.2.3
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

import { readWorkspaces } from './workspaces.ts'

const run = promisify(execFile)

const isPublished = async (name: string, version: string): Promise<boolean> => {
  try {
    const { stdout } = await run('npm', ['view', `${name}@${version}`, 'version'])
    return stdout.trim() === version
  } catch (error) {
    if (String((error as { stderr?: string }).stderr).includes('E404')) return false
    throw error
  }
}

const [tag] = process.argv.slice(2)
const { folders, version } = await readWorkspaces()
if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, but the packages have version ${version}.`)

// npm installs the version with the tag `latest` by default, which must not be a preview.
const distributionTag = version.includes('-') ? 'next' : 'latest'
for (const folder of folders) {
  const { name } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8')) as { name: string }
  if (await isPublished(name, version)) {
    console.log(`${name}@${version} is already published`)
    continue
  }
  const tarball = `build/tarballs/${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  await run('npm', ['publish', tarball, '--access', 'public', '--tag', distributionTag])
  console.log(`${name}@${version} published`)
}
