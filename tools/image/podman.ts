/** Calls podman and buildah. Everything that is made has a name with the same prefix, so that it can be removed. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const prefix = 'kinora-prove'

const output = async (program: string, parameters: string[]): Promise<string> => {
  try {
    const { stdout } = await run(program, ['--log-level', 'error', ...parameters], {
      maxBuffer: 64 * 1024 ** 2,
    })
    return stdout.trim()
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(
      `${program} ${parameters.slice(0, 3).join(' ')} failed: ${stdout?.slice(-2_000)}${stderr}`,
      {
        cause: error,
      },
    )
  }
}

export const podman = (...parameters: string[]): Promise<string> => output('podman', parameters)

/** The chroot isolation needs no namespaces, so an image can be built inside of a container. */
export const buildImage = (tag: string, directory: string, options: string[] = []): Promise<string> =>
  output('buildah', ['bud', '--isolation=chroot', '--layers', '--quiet', ...options, '--tag', tag, directory])

/** runc also supports hosts with both versions of cgroups. The limits are below those of small machines. */
export const runOptions = [
  ...['--runtime', 'runc', '--ulimit', 'nofile=20000:20000', '--ulimit', 'nproc=4000:4000'],
]

export const removeAll = async (): Promise<void> => {
  const named = ['--all', '--quiet', '--filter', `name=^${prefix}-`]
  const remove = async (list: string[], removal: string[]) => {
    const found = await podman(...list)
    if (found !== '') await podman(...removal, ...found.split(/\s+/))
  }
  await remove(['ps', ...named], ['rm', '--force', '--time', '0'])
  await remove(['network', 'ls', '--quiet', '--filter', `name=^${prefix}-`], ['network', 'rm', '--force'])
  await remove(['volume', 'ls', '--quiet', '--filter', `name=^${prefix}-`], ['volume', 'rm', '--force'])
}
