/**
 * Records one example of every operation from a real run and writes `contract/src/examples.json`. It starts
 * `kinora dev` with the built-in provider, calls each public and each admin operation, and replaces ids, secrets,
 * signatures and times by fixed values, so that a second run gives the same file. Run it with `npm run examples`
 * after a change of the API; it takes about half a minute and needs the small models (`kinora models pull --small`).
 * With `--check` it writes nothing and fails if the file differs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { choosePorts } from '../cli/src/dev/free-port.ts'
import { normalize } from './examples/normalize.ts'
import { createRecorder } from './examples/record.ts'
import { createCustomer, runAdminOperations } from './examples/run-admin-operations.ts'
import { runPublicOperations } from './examples/run-public-operations.ts'

const program = fileURLToPath(new URL('../cli/src/kinora.ts', import.meta.url))
const examplesFile = new URL('../contract/src/examples.json', import.meta.url)

interface Service extends AsyncDisposable {
  url: string
  operatorKey: string
}

const startService = async (directory: string): Promise<Service> => {
  const { api } = await choosePorts(join(directory, 'port.json'), ['api'])
  const args = ['dev', '--json', '--no-models', '--port', String(api), '--data', join(directory, 'data')]
  const child = spawn(process.execPath, [program, ...args], {
    env: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], PUBLIC_URL: 'https://api.example.com' },
      // Only the models of the reference.
      PROVIDERS_FILE: '',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    output += chunk.toString()
    if (output.includes('\n')) break
  }
  const { url, keys } = JSON.parse(output) as { url: string; keys: Record<string, string> }
  return {
    url,
    operatorKey: keys['admin'] ?? '',
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** The examples of a new run, as the text of the file. */
export const recordExamples = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-examples-'))
  try {
    await using service = await startService(directory)
    const recorder = createRecorder(service)
    const customer = await createCustomer(recorder)
    recorder.useKey(customer.key)
    const tasks = await runPublicOperations(recorder, customer.key)
    await runAdminOperations(recorder, customer, tasks)
    return `${JSON.stringify(normalize(recorder.examples()), null, 2)}\n`
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const text = await recordExamples()
  if (process.argv.includes('--check')) {
    if (text !== (await readFile(examplesFile, 'utf8'))) {
      process.stderr.write('contract/src/examples.json differs from a real run. Run: npm run examples\n')
      process.exitCode = 1
    }
  } else await writeFile(examplesFile, text)
}
