import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

import { readWorkspaces, versionPlaces } from './workspaces.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

describe('a new version', () => {
  let copy: string
  const read = (file: string) => readFile(join(copy, file), 'utf8')
  const git = (...parameters: string[]) => run('git', parameters, { cwd: copy })

  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), 'kinora-release-'))
    const { folders } = await readWorkspaces()
    const files = [
      ...['package.json', 'package-lock.json', '.npmrc', '.changeset', 'CHANGELOG.md', 'cli/CHANGELOG.md'],
      ...folders.map((folder) => `${folder}/package.json`),
      ...versionPlaces.map(({ file }) => file),
    ]
    for (const file of files)
      await cp(join(root, file), join(copy, file), { recursive: true, verbatimSymlinks: true })
    for (const file of await readdir(join(copy, '.changeset'))) {
      if (file.endsWith('.md')) await rm(join(copy, '.changeset', file))
    }
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
    await git('init', '--quiet')
    await git(
      '-c',
      'user.name=t',
      '-c',
      'user.email=t@example.com',
      'commit',
      '--quiet',
      '--allow-empty',
      '-m',
      'x',
    )
  })
  afterAll(() => rm(copy, { recursive: true, force: true }))

  const release = (script: string, ...parameters: string[]) =>
    run(process.execPath, [join(root, 'tools/release', script), ...parameters], { cwd: copy })

  test('needs a changeset', async () => {
    await expect(release('version.ts')).rejects.toMatchObject({
      stdout: expect.stringContaining('No unreleased changesets found'),
    })
  })

  test('is that of all packages, of what they depend on, of the image and of the manifests', async () => {
    const before = await readWorkspaces()
    const next = before.version.replace(
      /^(\d+)\.(\d+)\.\d+.*$/,
      (_, major, minor) => `${major}.${Number(minor) + 1}.0`,
    )
    await writeFile(
      join(copy, '.changeset/a-change.md'),
      '---\nkinora: minor\n---\n\nWhales can sing in two voices.\n',
    )
    expect((await release('version.ts')).stdout).toContain(`git tag v${next}`)

    for (const folder of before.folders) {
      const manifest = JSON.parse(await read(`${folder}/package.json`)) as {
        version: string
        dependencies?: Record<string, string>
      }
      expect(manifest.version).toBe(next)
      const internal = Object.entries(manifest.dependencies ?? {}).filter(([name]) =>
        name.startsWith('@kinora/'),
      )
      expect(internal.map(([, version]) => version)).toEqual(internal.map(() => next))
    }
    const { packages } = JSON.parse(await read('package-lock.json')) as {
      packages: Record<string, { version: string; resolved?: string }>
    }
    expect(before.folders.map((folder) => packages[folder]?.version)).toEqual(before.folders.map(() => next))
    expect(Object.values(packages).filter(({ resolved }) => resolved?.startsWith('http'))).toEqual([])
    for (const { file, pattern } of versionPlaces) expect(pattern.exec(await read(file))?.[0]).toBe(next)
  })

  test('has one changelog, whose section becomes the text of the release', async () => {
    const { stdout } = await run(
      'find',
      ['.', '-name', 'CHANGELOG.md', '-not', '-path', './node_modules/*'],
      {
        cwd: copy,
      },
    )
    expect(stdout.trim().split('\n').toSorted()).toEqual(['./CHANGELOG.md', './cli/CHANGELOG.md'])
    const { version } = JSON.parse(await read('cli/package.json')) as { version: string }
    const notes = await release('notes.ts', `v${version}`)
    expect(notes.stdout).toContain('Whales can sing in two voices.')
    expect(notes.stdout).not.toContain('The first release.')
    await expect(release('notes.ts', 'v9.9.9')).rejects.toMatchObject({
      stderr: expect.stringContaining('CHANGELOG.md has no section for version 9.9.9.'),
    })
  })

  test('is not published under the tag of another version', async () => {
    await expect(release('publish.ts', 'v9.9.9')).rejects.toMatchObject({
      stderr: expect.stringContaining('The tag is v9.9.9, but the packages have version'),
    })
  })
})

test('the image and the manifests name the version of the packages', async () => {
  const { version } = await readWorkspaces()
  for (const { file, pattern } of versionPlaces)
    expect(pattern.exec(await readFile(join(root, file), 'utf8'))?.[0]).toBe(version)
})

interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, { uses?: string; steps?: { uses?: string; run?: string }[] }>
}

describe('workflows', async () => {
  const folder = join(root, '.github/workflows')
  const names = await readdir(folder)
  const textOf = (name: string) => readFile(join(folder, name), 'utf8')
  const stepsOf = async (name: string) =>
    Object.values((parse(await textOf(name)) as Workflow).jobs).flatMap(({ steps = [] }) => steps)

  let parser: typeof import('@actions/workflow-parser')
  beforeAll(async () => {
    // GitHub's parser imports JSON as only bundlers allow.
    const directory = await mkdtemp(join(tmpdir(), 'kinora-workflows-'))
    const entry = fileURLToPath(import.meta.resolve('@actions/workflow-parser'))
    await build({
      ...{ root, configFile: false, logLevel: 'error', ssr: { noExternal: true } },
      build: { ssr: entry, outDir: directory, emptyOutDir: false },
    })
    parser = (await import(join(directory, 'index.js'))) as typeof parser
    await rm(directory, { recursive: true })
  })

  /** What GitHub would refuse. */
  const mistakesIn = async (name: string, content: string) => {
    const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = parser
    const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter())
    if (value !== undefined) await convertWorkflowTemplate(context, value)
    return context.errors.getErrors().map(({ message }) => message)
  }

  test.for(names)('%s is valid', async (name) => {
    expect(await mistakesIn(name, await textOf(name))).toEqual([])
  })

  test.each([
    ['needs: ci', 'needs: nothing', /nothing/],
    ['runs-on:', 'run-on:', /run-on/],
    ['steps.build.outputs', 'step.build.outputs', /step/],
  ])('%s mistyped as %s is found', async (text, typo, message) => {
    const mistakes = await mistakesIn('release.yml', (await textOf('release.yml')).replace(text, typo))
    expect(mistakes.join('\n')).toMatch(message)
  })

  test.for(names)(
    '%s pins actions by commit, and gives no permission to all jobs but reading',
    async (name) => {
      const actions = (await stepsOf(name)).flatMap(({ uses }) => uses ?? [])
      expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([])
      const { permissions } = parse(await textOf(name)) as Workflow
      expect(Object.values(permissions).filter((access) => access !== 'read')).toEqual([])
    },
  )

  test('CI runs what a developer runs, and a release requires it', async () => {
    const commands = (await stepsOf('ci.yml')).flatMap(({ run: command }) => command ?? [])
    expect(commands.at(-1)).toBe('.ci/run')
    const { jobs } = parse(await textOf('release.yml')) as {
      jobs: Record<string, { needs?: string | string[] }>
    }
    expect(jobs).toMatchObject({
      ci: { uses: './.github/workflows/ci.yml' },
      packages: { needs: 'ci' },
      image: { needs: 'packages' },
    })
  })

  test('publishing packages needs no stored token', async () => {
    expect(await textOf('release.yml')).not.toMatch(/npm_token|node_auth_token/i)
  })
})
