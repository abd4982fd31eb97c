/**
 * `npm run prove:sandbox`: runs the escape attempts inside a container as the image runs: Debian's packages, uid 10001,
 * no capabilities, no new privileges, a read-only root. It does so with podman's default seccomp profile and with
 * deploy/seccomp.json, and shows that without user namespaces media is refused. Needs root, podman, runc and mmdebstrap. ROOT_FILE_SYSTEM names an archive
 * with the packages, to skip their installation.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const image = 'localhost/kinora-prove-sandbox'
const packages = ['ca-certificates', 'ffmpeg', 'bubblewrap', 'espeak-ng', 'perl-base', 'util-linux']
const work = mkdtempSync(join(tmpdir(), 'kinora-prove-sandbox-'))
const storage = ['--root', join(work, 'storage'), '--runroot', join(work, 'run')]

const podman = (parameters: string[]) =>
  spawnSync('podman', ['--log-level', 'error', ...storage, ...parameters], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })

const buildImage = () => {
  const given = process.env['ROOT_FILE_SYSTEM']
  const archive = given ?? join(work, 'root.tar')
  if (!existsSync(archive)) {
    console.log(`Installing ${packages.join(', ')} into a file system…`)
    const include = `--include=${packages.join(',')}`
    execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', include, 'trixie', archive], {
      stdio: 'inherit',
    })
  }
  if (podman(['import', '--quiet', archive, image]).status !== 0)
    throw new Error('the image was not imported')
}

const attempt = (title: string, options: string[], parameters: string[] = []): boolean => {
  console.log(`\n== ${title}`)
  const { status } = podman([
    ...['run', '--rm', '--runtime', 'runc', '--network', 'none'],
    ...['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1000:1000'],
    ...['--user', '10001:10001', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ...['--read-only', '--read-only-tmpfs=false', '--tmpfs', '/tmp:size=256m'],
    ...['--memory', '2g', '--pids-limit', '1024'],
    ...['--volume', `${root}:/app:ro`, '--workdir', '/app', ...options, image],
    ...[relative(root, process.execPath), 'sandbox/test/attempt-escapes.ts', ...parameters],
  ])
  return status === 0
}

try {
  buildImage()
  const withoutNamespaces = join(work, 'seccomp.json')
  const profile = JSON.parse(readFileSync(join(root, 'deploy/seccomp.json'), 'utf8')) as {
    syscalls: { names: string[] }[]
  }
  const denied = profile.syscalls.filter(({ names }) => !names.includes('unshare'))
  const threads = {
    names: ['clone'],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: 0, value: 0x7e020000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
  }
  writeFileSync(withoutNamespaces, JSON.stringify({ ...profile, syscalls: [...denied, threads] }))
  const results = [
    attempt("podman's default seccomp profile", []),
    attempt('deploy/seccomp.json', ['--security-opt', `seccomp=${join(root, 'deploy/seccomp.json')}`]),
    attempt(
      'a profile without user namespaces, as the default of Docker',
      ['--security-opt', `seccomp=${withoutNamespaces}`],
      ['refused'],
    ),
  ]
  const isContained = results.every(Boolean)
  console.log(isContained ? '\nEvery attempt was contained.' : '\nThe sandbox does not hold.')
  process.exitCode = isContained ? 0 : 1
} finally {
  podman(['rmi', '--force', image])
  rmSync(work, { recursive: true, force: true })
}
