/** The code in the API reference is right: curl sends what was recorded, and other languages name the operations they have. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { adminOperations } from '../../contract/src/admin-operations.ts'
import { examples } from '../../contract/src/examples.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { fileIn } from '../../contract/src/samples/sample-files.ts'
import { codeSamplesOf } from '../../contract/src/samples/samples.ts'

const all: Operation[] = [...Object.values(operations), ...Object.values(adminOperations)]
const recorded = all.flatMap((operation) => {
  const example = examples[operation.id]
  return example === undefined ? [] : [{ operation, example }]
})

const sampleOf = ({ operation, example }: (typeof recorded)[number], label: string) =>
  codeSamplesOf(operation, example).find((sample) => sample.label === label)?.source

const valuesOf = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const type = request.headers['content-type'] ?? ''
  if (body.length === 0) return undefined
  if (type === 'application/json') return JSON.parse(body.toString())
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  return Object.fromEntries(
    [...form].map(([name, value]) => [name, typeof value === 'string' ? value : value.name]),
  )
}

interface Received {
  method: string | undefined
  path: string
  query: Record<string, string>
  authorization: string | undefined
  body: unknown
}

let directory: string
let received: Received[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-samples-'))
  received = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const { method, headers } = request
    void valuesOf(request).then((body) => {
      received.push({
        ...{ method, path: pathname, query: Object.fromEntries(searchParams) },
        ...{ authorization: headers.authorization, body },
      })
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await writeFile(join(directory, 'speech.mp3'), 'sound')
  const script = recorded.map((each) => sampleOf(each, 'curl')).join('\n')
  await writeFile(join(directory, 'all.sh'), script)
  const { port } = server.address() as AddressInfo
  await promisify(execFile)('sh', ['-e', 'all.sh'], {
    cwd: directory,
    env: { PATH: process.env['PATH'], KINORA_URL: `http://127.0.0.1:${port}`, KINORA_API_KEY: 'sk-1' },
  })
  await new Promise((resolve) => server.close(resolve))
})
afterAll(() => rm(directory, { recursive: true }))

const formTexts = (body: unknown) =>
  Object.fromEntries(
    Object.entries(body as object).map(([name, value]) => [name, fileIn(value) ?? String(value)]),
  )

test('the curl sample of every operation sends the recorded request', () => {
  const expected = recorded.map(({ operation, example: { request } }) => {
    const inPath = Object.keys(operation.parameters?.path ?? {})
    const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => request.parameters[name] ?? '')
    return {
      method: operation.method,
      path: filled,
      query: Object.fromEntries(
        Object.entries(request.parameters).filter(([name]) => !inPath.includes(name)),
      ),
      authorization: ['key', 'operator'].includes(operation.access) ? 'Bearer sk-1' : undefined,
      body: request.contentType === 'multipart/form-data' ? formTexts(request.body) : request.body,
    }
  })
  expect(received).toEqual(expected)
})

test('the openai packages have a sample for each operation that they have', () => {
  const has = recorded
    .filter((each) => sampleOf(each, 'openai (TypeScript)') !== undefined)
    .map(({ operation }) => operation.id)
  expect(has).toEqual(
    recorded
      .filter((each) => sampleOf(each, 'openai (Python)') !== undefined)
      .map(({ operation }) => operation.id),
  )
  expect(has).toEqual(
    expect.arrayContaining([
      'createVideo',
      'getVideo',
      'createSpeech',
      'createTranscription',
      'completeChat',
    ]),
  )
})

test('a text that a shell or curl would interpret arrives as it is', async () => {
  const body = { model: 'vidB-2', prompt: `@home; it's $HOME "now" \`date\` \\ <b>` }
  const source = codeSamplesOf(operations.createVideo, {
    request: { parameters: {}, contentType: 'multipart/form-data', body },
    response: { contentType: 'application/json', body: {} },
  }).find(({ lang }) => lang === 'shell')?.source
  const { stdout } = await promisify(execFile)('sh', ['-c', `curl() { printf '%s\\n' "$@"; }; ${source}`])
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining(['--form-string', `prompt=${body.prompt}`, 'model=vidB-2']),
  )
})
