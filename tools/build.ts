/**
 * Builds the npm packages into `build/`, one folder per package: JavaScript and declarations by `tsc` (the page of the
 * console by `vite`), the other files that the package needs, and a package.json that refers to them. With `--pack` it also makes the tarballs. With `--unchecked`
 * types are not checked, for a test of sources that `npm run check` has checked.
 *
 * The packages have the layout of the source, so that files find each other by the same relative paths.
 */
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'

import { isDocsFile } from '../gateway/src/pages/docs-files.ts'
import { guideNames } from '../gateway/src/pages/guides.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const output = join(root, 'build')

interface Manifest {
  name: string
  version: string
  description: string
  exports?: Record<string, string>
  bin?: Record<string, string>
  /** Files and folders besides `src` that belong to the package. */
  files?: string[]
  [field: string]: unknown
}

/** What all packages have in common. */
const shared = {
  license: 'Apache-2.0',
  engines: { node: '>=22.18' },
  homepage: 'https://github.com/kinora/kinora#readme',
  bugs: 'https://github.com/kinora/kinora/issues',
}
const repository = { type: 'git', url: 'git+https://github.com/kinora/kinora.git' }

const readJson = async <Value>(path: string) => JSON.parse(await readFile(path, 'utf8')) as Value

const builtPath = (sourcePath: string) => sourcePath.replace('./src/', './dist/').replace(/\.ts$/, '.js')

const mapValues = <From, To>(record: Record<string, From>, map: (value: From) => To) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))

interface Copied {
  from: string
  to: string
}

const scalar = 'node_modules/@scalar/api-reference'

/** Files from elsewhere that the gateway serves. */
const servedFiles = async (): Promise<Copied[]> => {
  const built = (await filesIn(join(root, scalar, 'dist/browser'))).filter(isDocsFile)
  const names = ['README.md', ...built.map((name) => `dist/browser/${name}`)]
  return [
    ...names.map((name) => ({ from: `${scalar}/${name}`, to: `reference/${name}` })),
    ...guideNames.map((name) => ({ from: `docs/${name}`, to: `guides/${name}` })),
  ]
}

/** Whose files they are, in their version. What else is in that package.json holds for the whole package only. */
const servedManifest = async (): Promise<string> => {
  const { name, version, license, author, homepage } = await readJson<Record<string, unknown>>(
    join(root, scalar, 'package.json'),
  )
  return `${JSON.stringify({ name, version, license, author, homepage }, undefined, 2)}\n`
}

/** The package.json of the published package. */
const publishedManifest = (folder: string, { exports, bin, files = [], ...source }: Manifest) => ({
  ...source,
  // What a package is built and tested with is not needed where it is installed.
  devDependencies: undefined,
  ...shared,
  repository: { ...repository, directory: folder },
  files: ['dist', ...files, ...(folder === 'gateway' ? ['reference', 'guides'] : [])],
  ...(bin && { bin: mapValues(bin, (path) => builtPath(`./${path}`).slice(2)) }),
  exports: {
    ...mapValues(exports ?? {}, (path) => ({
      types: builtPath(path).replace(/\.js$/, '.d.ts'),
      default: builtPath(path),
    })),
    './package.json': './package.json',
  },
})

const readmeOf = ({ name, description }: Manifest) => `# ${name}

${description}

${name === 'kinora' ? '```sh\nnpx kinora dev\n```\n\n' : ''}Part of [Kinora](${shared.homepage}), a self-hosted media generation service.
`

const filesIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true })).flatMap((entry) =>
    entry.isFile() ? [relative(directory, join(entry.parentPath, entry.name))] : [],
  )

/**
 * `tsc` rewrites the extensions of imports, but not those of threads and child processes, which are started by their URL.
 */
const withBuiltUrls = (code: string) =>
  code.replace(/(new URL\((['"])[^'"]+)\.ts(\2, import\.meta\.url\))/g, '$1.js$3')

/** Any other mention of a source file would be missing in the package. */
const sourceNames = (code: string) => code.match(/^(?!\s*(\*|\/[/*])).*['"`/][\w./-]+\.ts['"`].*$/gm) ?? []

const rewriteUrls = async (dist: string) => {
  for (const file of await filesIn(dist)) {
    if (!file.endsWith('.js')) continue
    const path = join(dist, file)
    const code = await readFile(path, 'utf8')
    const built = withBuiltUrls(code)
    const left = sourceNames(built)
    if (left.length > 0) throw new Error(`${path} refers to a source file: ${left.join('\n')}`)
    if (built !== code) await writeFile(path, built)
  }
}

/** Files in the source that are not code, such as YAML. */
const copyAssets = async (source: string, dist: string) => {
  for (const file of await filesIn(source)) {
    if (!file.endsWith('.ts')) await cp(join(source, file), join(dist, file))
  }
}

/** JavaScript and declarations, and the other files beside the source. */
const compileSource = async (folder: string, dist: string) => {
  await rename(join(output, '.compiled', folder, 'src'), dist)
  await rewriteUrls(dist)
  await copyAssets(join(root, folder, 'src'), dist)
}

/** Vite puts everything that the page loads into its files, so the package depends on nothing. */
const bundlePage = async (folder: string, dist: string) => {
  await run('npm', ['exec', '--', 'vite', 'build', folder, '--outDir', dist, '--emptyOutDir'], {
    cwd: root,
  }).catch((error: { stderr?: string }) => {
    throw new Error(`vite failed:\n${error.stderr}`)
  })
}

const buildPackage = async (folder: string) => {
  const source = join(root, folder)
  const target = join(output, folder)
  const manifest = await readJson<Manifest>(join(source, 'package.json'))
  await mkdir(target)
  await (folder === 'console' ? bundlePage : compileSource)(folder, join(target, 'dist'))
  for (const path of Object.values(manifest.bin ?? {}))
    await chmod(join(target, builtPath(`./${path}`)), 0o755)
  for (const file of manifest.files ?? [])
    await cp(join(source, file), join(target, file), {
      ...{ recursive: true, dereference: true },
      filter: (path) => !path.includes('.test.'),
    })
  if (folder === 'gateway') {
    for (const { from, to } of await servedFiles()) await cp(join(root, from), join(target, to))
    await writeFile(join(target, 'reference/package.json'), await servedManifest())
  }
  await cp(join(root, 'LICENSE'), join(target, 'LICENSE'))
  // Without a page of its own, the package refers to the project.
  const readme = await readFile(join(source, 'README.md'), 'utf8').catch(() => readmeOf(manifest))
  await writeFile(join(target, 'README.md'), readme)
  await writeFile(
    join(target, 'package.json'),
    `${JSON.stringify(publishedManifest(folder, manifest), undefined, 2)}\n`,
  )
}

const { workspaces } = await readJson<{ workspaces: string[] }>(join(root, 'package.json'))
const { values } = parseArgs({ options: { pack: { type: 'boolean' }, unchecked: { type: 'boolean' } } })

await rm(output, { recursive: true, force: true })
await mkdir(output)
const compile = [
  'tsc',
  '--project',
  'tsconfig.build.json',
  ...(values.unchecked === true ? ['--noCheck'] : []),
]
await run('npm', ['exec', '--', ...compile], { cwd: root }).catch((error: { stdout?: string }) => {
  throw new Error(`tsc failed:\n${error.stdout}`)
})
await Promise.all(workspaces.map(buildPackage))
await rm(join(output, '.compiled'), { recursive: true })
if (values.pack === true) {
  const tarballs = join(output, 'tarballs')
  await mkdir(tarballs)
  const folders = workspaces.map((folder) => join(output, folder))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', tarballs, ...folders], {
    cwd: root,
  })
  process.stdout.write(stdout)
}
