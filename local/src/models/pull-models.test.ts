import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import type { ModelFile, ModelSet, Source } from './model-set.ts'
import { pullModels } from './pull-models.ts'
import type { PullProgress, PullOptions } from './pull.ts'

// Long enough for a busy machine. Tests of a timeout use a shorter one.
const limits = { answerMs: 120_000, laterAnswerMs: 120_000, stallMs: 120_000 }

/** A server that is both an npm registry and a model hub. */
const startSources = async () => {
  const requested: string[] = []
  const answers = new Map<string, (response: ServerResponse) => void>()
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    requested.push(path)
    const answer = answers.get(path)
    if (answer === undefined) response.writeHead(404).end()
    else answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requested,
    answer: (path: string, how: (response: ServerResponse) => void) => answers.set(path, how),
    serve: (path: string, body: Buffer) => answers.set(path, (response) => response.end(body)),
    publish: (name: string, tarball: Buffer) => {
      const path = `/${name}/-/${name.split('/').at(-1)}-1.0.0.tgz`
      answers.set(`/${name}/1.0.0`, (response) =>
        response.end(JSON.stringify({ name, dist: { tarball: `${url}${path}` } })),
      )
      answers.set(path, (response) => response.end(tarball))
      return path
    },
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const tarOf = (files: Record<string, Buffer>): Buffer => {
  const blocks = Object.entries(files).flatMap(([path, content]) => {
    const header = Buffer.alloc(512)
    header.write(`package/${path}`, 0)
    header.write('0000644\0', 100)
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
    header.write('        0', 148)
    header.write('ustar\x0000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}
const tgzOf = (files: Record<string, Buffer>) => gzipSync(tarOf(files))

const fileOf = (name: string, content: Buffer, ...sources: Source[]): ModelFile => ({
  name,
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
  sources,
})

const setOf = (name: string, ...files: ModelFile[]): ModelSet => ({
  name,
  purpose: 'speech',
  quality: '',
  licence: 'MIT',
  isSmall: true,
  needs: [],
  files,
})

const inPackage = (name: string, path: string): Source => ({ package: name, version: '1.0.0', path })

let directory: string
let sources: Awaited<ReturnType<typeof startSources>>
let progress: PullProgress[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-models-'))
  sources = await startSources()
  progress = []
})
afterEach(async () => {
  sources.stop()
  await rm(directory, { recursive: true, force: true })
})

const pull = (sets: ModelSet[], given: Partial<PullOptions> = {}) =>
  pullModels({
    directory,
    sets,
    hubUrl: sources.url,
    findRegistry: async () => sources.url,
    signal: new AbortController().signal,
    limits,
    onProgress: (each) => progress.push(each),
    ...given,
  })

const placed = (set: string, name: string) => readFileSync(join(directory, set, name))
/** All files, including hidden ones. */
const allFiles = () =>
  readdirSync(directory, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? join(entry.parentPath, entry.name).slice(directory.length + 1) : [],
  )

const one = randomBytes(70_000)
const two = randomBytes(1_000)

test('extracts the named files from a tarball that is downloaded once, and leaves no other files', async () => {
  const path = sources.publish(
    '@scope/weights',
    tgzOf({ 'index.js': Buffer.from('throw 1'), 'a/one.bin': one, 'two.bin': two }),
  )
  const result = await pull([
    setOf('first', fileOf('deep/one.bin', one, inPackage('@scope/weights', 'a/one.bin'))),
    setOf('second', fileOf('two.bin', two, inPackage('@scope/weights', 'two.bin'))),
  ])
  expect(result).toEqual({ pulled: ['first', 'second'], failed: [] })
  expect(placed('first', 'deep/one.bin').equals(one)).toBe(true)
  expect(placed('second', 'two.bin').equals(two)).toBe(true)
  expect(sources.requested.filter((each) => each === path)).toHaveLength(1)
  expect(allFiles().toSorted()).toEqual(['first/deep/one.bin', 'second/two.bin'])
})

test('joins the parts of a file from several packages, in any order', async () => {
  const shards = Array.from({ length: 5 }, (_, index) => one.subarray(index * 16_000, (index + 1) * 16_000))
  sources.publish('shards-a', tgzOf({ 'part1.bin': shards[1]!, 'part0.bin': shards[0]! }))
  sources.publish(
    'shards-b',
    tgzOf({ 'part4.bin': shards[4]!, 'part2.bin': shards[2]!, 'part3.bin': shards[3]! }),
  )
  const parts = shards.map(({ length }, index) => ({
    package: index < 2 ? 'shards-a' : 'shards-b',
    version: '1.0.0',
    path: `part${index}.bin`,
    bytes: length,
  }))
  expect(await pull([setOf('big', fileOf('model.onnx', one, { parts }))])).toMatchObject({ pulled: ['big'] })
  expect(placed('big', 'model.onnx').equals(one)).toBe(true)
})

test('the hub is tried first, and files that are present are not requested', async () => {
  sources.serve('/owner/repo/resolve/main/onnx/one.bin', one)
  await mkdir(join(directory, 'set'), { recursive: true })
  await writeFile(join(directory, 'set/two.bin'), Buffer.alloc(two.length))
  await writeFile(join(directory, 'set/one.bin'), one.subarray(1))
  const set = setOf(
    'set',
    fileOf('one.bin', one, { hub: 'owner/repo/onnx/one.bin' }, inPackage('weights', 'one.bin')),
    fileOf('two.bin', two, { hub: 'owner/repo/two.bin' }),
  )
  expect(await pull([set])).toEqual({ pulled: ['set'], failed: [] })
  expect(await pull([set])).toEqual({ pulled: [], failed: [] })
  expect(sources.requested).toEqual(['/owner/repo/resolve/main/onnx/one.bin'])
  expect(placed('set', 'one.bin').equals(one)).toBe(true)
})

test('a file with a wrong hash is rejected, and the next source is tried', async () => {
  const forged = Buffer.from(one)
  forged[500]! ^= 1
  sources.serve('/owner/repo/resolve/main/one.bin', forged)
  sources.publish('forged', tgzOf({ 'one.bin': forged }))
  sources.publish('honest', tgzOf({ 'one.bin': one }))
  const refused = [{ hub: 'owner/repo/one.bin' }, inPackage('forged', 'one.bin')]
  expect(await pull([setOf('set', fileOf('one.bin', one, ...refused))])).toEqual({
    pulled: [],
    failed: [
      {
        set: 'set',
        reasons: [
          expect.stringMatching(/^owner\/repo\/one\.bin: one\.bin has the wrong sha256 [0-9a-f]{64}$/),
          expect.stringMatching(/^forged@1\.0\.0: one\.bin has the wrong sha256/),
        ],
      },
    ],
  })
  expect(allFiles()).toEqual([])
  const set = setOf('set', fileOf('one.bin', one, ...refused, inPackage('honest', 'one.bin')))
  expect(await pull([set])).toEqual({ pulled: ['set'], failed: [] })
  expect(placed('set', 'one.bin').equals(one)).toBe(true)
})

test('a source that does not respond is skipped after a timeout and not contacted again', async () => {
  const silent = await startSources()
  try {
    for (const name of ['one', 'two']) silent.answer(`/owner/repo/resolve/main/${name}.bin`, () => {})
    sources.publish('weights', tgzOf({ 'one.bin': one, 'two.bin': two }))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const pulling = pull(
      [
        setOf(
          'first',
          fileOf('one.bin', one, { hub: 'owner/repo/one.bin' }, inPackage('weights', 'one.bin')),
        ),
        setOf(
          'second',
          fileOf(
            'two.bin',
            two,
            { hub: 'owner/repo/two.bin' },
            inPackage('missing', 'two.bin'),
            inPackage('weights', 'two.bin'),
          ),
        ),
      ],
      { hubUrl: silent.url, limits: { ...limits, answerMs: 10_000 } },
    )
    while (silent.requested.length === 0) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(10_000)
    const result = await pulling
    expect(result.failed).toEqual([])
    expect(silent.requested).toHaveLength(1)
    expect(progress).toContainEqual({
      type: 'source-failed',
      from: 'owner/repo/one.bin',
      reason: `${new URL(silent.url).host} did not respond within 10 s`,
    })
  } finally {
    vi.useRealTimers()
    silent.stop()
  }
})

test('a registry that has responded may take longer to begin with a package', async () => {
  const path = sources.publish('large', Buffer.alloc(0))
  const asked = new Promise<ServerResponse>((resolve) => sources.answer(path, resolve))
  try {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const pulling = pull([setOf('set', fileOf('one.bin', one, inPackage('large', 'one.bin')))], {
      limits: { answerMs: 3_000, laterAnswerMs: 300_000, stallMs: 30_000 },
    })
    const response = await asked
    vi.advanceTimersByTime(200_000)
    response.end(tgzOf({ 'one.bin': one }))
    expect(await pulling).toEqual({ pulled: ['set'], failed: [] })
  } finally {
    vi.useRealTimers()
  }
})

const troubles: Record<
  string,
  { body: (response: ServerResponse, tarball: Buffer) => void; reason: RegExp }
> = {
  'a download that stalls': {
    body: (response, tarball) => response.write(tarball.subarray(0, 20_000)),
    reason: /sent nothing for 3 s/,
  },
  'a connection that breaks': {
    body: (response, tarball) =>
      response
        .writeHead(200, { 'content-length': tarball.length })
        .write(tarball.subarray(0, 20_000), () => response.destroy()),
    reason: /closed the connection/,
  },
  'a tarball that was cut off': {
    body: (response, tarball) => response.end(tarball.subarray(0, 20_000)),
    reason: /unexpected end of file/,
  },
  'an archive that ends in the middle': {
    body: (response) => response.end(gzipSync(tarOf({ 'one.bin': one }).subarray(0, 9_000))),
    reason: /Unexpected end of data/,
  },
  'a response that is not a tarball': {
    body: (response) => response.end('<html>Please log in</html>'),
    reason: /incorrect header check/,
  },
  'a tarball without the file': {
    body: (response) => response.end(tgzOf({ 'other.bin': one })),
    reason: /has no one\.bin/,
  },
  'a file of another size': {
    body: (response) => response.end(tgzOf({ 'one.bin': one.subarray(3) })),
    reason: /has one\.bin with 69997 bytes instead of 70000/,
  },
}

test.each(Object.entries(troubles))(
  '%s is reported with a reason, and the next source is tried',
  async (_, { body, reason }) => {
    const path = sources.publish('broken', Buffer.alloc(0))
    sources.answer(path, (response) => body(response, tgzOf({ 'one.bin': one })))
    sources.publish('whole', tgzOf({ 'one.bin': one }))
    const file = fileOf('one.bin', one, inPackage('broken', 'one.bin'), inPackage('whole', 'one.bin'))
    expect(await pull([setOf('set', file)], { limits: { ...limits, stallMs: 3_000 } })).toEqual({
      pulled: ['set'],
      failed: [],
    })
    expect(placed('set', 'one.bin').equals(one)).toBe(true)
    expect(progress).toContainEqual({
      type: 'source-failed',
      from: 'broken@1.0.0',
      reason: expect.stringMatching(reason),
    })
  },
)

test('a download from the hub that exceeds the expected size is aborted', async () => {
  sources.serve('/owner/repo/resolve/main/two.bin', one)
  const { failed } = await pull([setOf('set', fileOf('two.bin', two, { hub: 'owner/repo/two.bin' }))])
  expect(failed).toEqual([{ set: 'set', reasons: ['owner/repo/two.bin: has more than 1000 bytes'] }])
})

test('a tarball is downloaded from its usual address if its metadata is missing or names an unreachable host', async () => {
  sources.publish('weights', tgzOf({ 'one.bin': one }))
  sources.answer('/weights/1.0.0', (response) =>
    response.end(JSON.stringify({ dist: { tarball: 'http://127.0.0.1:1/weights.tgz' } })),
  )
  const set = setOf('set', fileOf('one.bin', one, inPackage('weights', 'one.bin')))
  expect((await pull([set])).pulled).toEqual(['set'])
  await rm(join(directory, 'set'), { recursive: true })
  sources.answer('/weights/1.0.0', (response) => response.writeHead(404).end())
  expect((await pull([set])).pulled).toEqual(['set'])
})

test('a set that fails does not prevent the others', async () => {
  sources.publish('weights', tgzOf({ 'two.bin': two }))
  const result = await pull([
    setOf('gone', fileOf('one.bin', one, inPackage('gone', 'one.bin'))),
    setOf('elsewhere'),
    setOf('set', fileOf('two.bin', two, inPackage('weights', 'two.bin'))),
  ])
  expect(result.pulled).toEqual(['set'])
  expect(result.failed).toEqual([
    { set: 'gone', reasons: [`gone@1.0.0: ${new URL(sources.url).host} responded with 404`] },
    { set: 'elsewhere', reasons: [`there is no build for ${process.platform}-${process.arch}`] },
  ])
})

test('two concurrent pulls download every file once, and both end with all files present', async () => {
  const path = sources.publish('weights', tgzOf({ 'one.bin': one, 'two.bin': two }))
  const sets = [
    setOf('first', fileOf('one.bin', one, inPackage('weights', 'one.bin'))),
    setOf('second', fileOf('two.bin', two, inPackage('weights', 'two.bin'))),
  ]
  const results = await Promise.all([pull(sets), pull(sets), pull(sets)])
  expect(results.flatMap(({ pulled }) => pulled).toSorted()).toEqual(['first', 'second'])
  expect(results.flatMap(({ failed }) => failed)).toEqual([])
  expect(sources.requested.filter((each) => each === path)).toHaveLength(1)
  expect(allFiles().toSorted()).toEqual(['first/one.bin', 'second/two.bin'])
})

test('leftovers of a killed pull are removed, and its lock does not block the next pull', async () => {
  const longAgo = new Date(Date.now() - 3_600_000)
  const leftover = join(directory, '.pulling-leftover')
  await mkdir(leftover)
  await writeFile(join(leftover, '0-1'), one)
  await utimes(leftover, longAgo, longAgo)
  // No process has an id this high.
  await writeFile(join(directory, '.pull.lock'), `${hostname()} 99999999 abc`)
  sources.publish('weights', tgzOf({ 'two.bin': two }))
  expect(
    (await pull([setOf('set', fileOf('two.bin', two, inPackage('weights', 'two.bin')))])).pulled,
  ).toEqual(['set'])
  expect(progress).not.toContainEqual({ type: 'waiting' })
  expect(allFiles()).toEqual(['set/two.bin'])
})

test('a pull that is stopped leaves no files, and the next one completes', async () => {
  const path = sources.publish('weights', tgzOf({ 'one.bin': one }))
  const stop = new AbortController()
  sources.answer(path, (response) => {
    response.write(tgzOf({ 'one.bin': one }).subarray(0, 30_000))
  })
  const set = setOf('set', fileOf('one.bin', one, inPackage('weights', 'one.bin')))
  const pulling = pull([set], {
    signal: stop.signal,
    onProgress: (each) => each.type === 'download' && stop.abort(new Error('enough')),
  })
  await expect(pulling).rejects.toThrow('enough')
  expect(await readdir(directory)).toEqual([])
  sources.publish('weights', tgzOf({ 'one.bin': one }))
  expect((await pull([set])).pulled).toEqual(['set'])
})

test('a directory that is not writable or has no space fails at once with a fix in the message', async () => {
  const file = join(directory, 'a-file')
  await writeFile(file, '')
  const set = setOf('set', fileOf('two.bin', two, { hub: 'owner/repo/two.bin' }))
  await expect(pull([set], { directory: join(file, 'models') })).rejects.toThrow(
    /a-file\/models is not writable \(ENOTDIR\)\. Make it writable, or choose another directory with MODEL_DIR\./,
  )
  const huge = { ...fileOf('huge.bin', two, { hub: 'owner/repo/two.bin' }), bytes: 1e18 }
  await expect(pull([setOf('set', huge)])).rejects.toThrow(
    /There is not enough space in .*: 1000000000000 MB are needed and \d+ MB are free\. .*MODEL_DIR\./,
  )
  expect(sources.requested).toEqual([])
  expect(existsSync(join(dirname(file), 'set'))).toBe(false)
})
