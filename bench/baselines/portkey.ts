/** The baseline of speech: Portkey's gateway at a pinned version, installed outside of this project when it is needed. */
import { execFile, spawn } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { until } from '../../gateway/test/faults/part.ts'

const version = '1.15.2'
const directory = join(homedir(), '.cache', 'kinora-bench', `portkey-${version}`)
const program = join(directory, 'node_modules/@portkey-ai/gateway/build/start-server.js')
const run = promisify(execFile)

const install = async () => {
  try {
    await access(program)
    return
  } catch {
    await mkdir(directory, { recursive: true })
    const project = {
      private: true,
      dependencies: { '@portkey-ai/gateway': version },
      // A later version of its HTTP server does not start with this version of the gateway.
      overrides: { '@hono/node-server': '1.14.1' },
    }
    await writeFile(join(directory, 'package.json'), JSON.stringify(project))
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: directory })
  }
}

export interface Portkey extends Disposable {
  origin: string
  pid: number | undefined
  /** The headers that send a request to a vendor. */
  headersFor: (vendorUrl: string, apiKey: string) => Record<string, string>
}

export const startPortkey = async (port: number): Promise<Portkey> => {
  await install()
  const origin = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [program, `--port=${port}`, '--headless'], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    stdio: 'ignore',
  })
  await until('Portkey responds', async () => (await fetch(origin)).status > 0)
  return {
    origin,
    pid: child.pid,
    headersFor: (vendorUrl, apiKey) => ({
      authorization: `Bearer ${apiKey}`,
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${vendorUrl}/v1`,
    }),
    [Symbol.dispose]: () => {
      child.kill('SIGKILL')
    },
  }
}
