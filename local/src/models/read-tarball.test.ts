import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { readTarball } from './read-tarball.ts'

const deepFolder = `package/${'a-folder-with-a-long-name/'.repeat(8)}`
const contents: Record<string, Buffer> = {
  'package/package.json': Buffer.from('{}'),
  'package/empty': Buffer.alloc(0),
  'package/one-block': Buffer.alloc(512, 1),
  'package/weights.bin': Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251)),
  [`${deepFolder}${'n'.repeat(120)}`]: Buffer.from('a path of more than 255 characters'),
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-tar-'))
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

const archive = (format: string): Buffer =>
  execFileSync('tar', ['--create', `--format=${format}`, '--directory', folder, 'package'])

async function* inChunks(bytes: Buffer, lengths: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const length = lengths[index % lengths.length]!
    yield bytes.subarray(at, at + length)
    at += length
  }
}

const readAll = async (chunks: AsyncIterable<Buffer>, isRead: (path: string) => boolean = () => true) => {
  const found: Record<string, Buffer> = {}
  for await (const { path, bytes, content } of readTarball(chunks)) {
    if (!isRead(path)) continue
    const received: Buffer[] = []
    for await (const chunk of content) received.push(chunk)
    found[path] = Buffer.concat(received)
    expect(found[path].length).toBe(bytes)
  }
  return found
}

test.each(['gnu', 'pax', 'posix'])(
  'reads archives in the %s format, including long paths',
  async (format) => {
    const found = await readAll(inChunks(gzipSync(archive(format)), [10_000]))
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(contents).toSorted())
    for (const [path, content] of Object.entries(contents)) expect(found[path]?.equals(content)).toBe(true)
  },
)

test('the result depends neither on the chunk sizes nor on the files that are skipped', async () => {
  const bytes = gzipSync(archive('gnu'), { level: 0 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 8 }),
      fc.subarray(Object.keys(contents)),
      async (lengths, paths) => {
        const found = await readAll(inChunks(bytes, lengths), (path) => paths.includes(path))
        expect(Object.keys(found).toSorted()).toEqual(paths.toSorted())
        for (const path of paths) expect(found[path]?.equals(contents[path]!)).toBe(true)
      },
    ),
    { numRuns: 30 },
  )
})

test('a large file is not held in memory: the source waits for the reader', async () => {
  const fileBytes = 20_000_000
  writeFileSync(join(folder, 'large.bin'), Buffer.alloc(fileBytes))
  const bytes = gzipSync(
    execFileSync('tar', ['--create', '--directory', folder, 'large.bin'], { maxBuffer: 3e7 }),
    {
      level: 0,
    },
  )
  let sentBytes = 0
  async function* source() {
    for await (const chunk of inChunks(bytes, [10_000])) {
      sentBytes += chunk.length
      yield chunk
    }
  }
  let receivedBytes = 0
  let mostAhead = 0
  for await (const { content } of readTarball(source())) {
    for await (const chunk of content) {
      receivedBytes += chunk.length
      mostAhead = Math.max(mostAhead, sentBytes - receivedBytes)
    }
  }
  expect(receivedBytes).toBe(fileBytes)
  expect(mostAhead).toBeLessThan(fileBytes / 10)
})

test('an archive that is cut off, is not compressed or is not a tar archive fails', async () => {
  const bytes = archive('gnu')
  const cut = bytes.subarray(0, bytes.indexOf(contents['package/weights.bin']!) + 20_000)
  await expect(readAll(inChunks(gzipSync(cut), [4_096]))).rejects.toThrow('Unexpected end of data')
  const zipped = gzipSync(bytes, { level: 0 })
  await expect(readAll(inChunks(zipped.subarray(0, -20_000), [4_096]))).rejects.toThrow(
    'unexpected end of file',
  )
  await expect(readAll(inChunks(bytes, [4_096]))).rejects.toThrow('incorrect header check')
  const noTar = gzipSync(Buffer.alloc(5_000, 'not a tar'))
  await expect(readAll(inChunks(noTar, [4_096]))).rejects.toThrow('Invalid tar header')
})

test('a failure of the download reaches the reader', async () => {
  async function* source() {
    yield* inChunks(gzipSync(archive('gnu'), { level: 0 }).subarray(0, 20_000), [4_096])
    throw new Error('the connection was reset')
  }
  await expect(readAll(source())).rejects.toThrow('the connection was reset')
})

test('a reader that stops early ends the download', async () => {
  let ended: () => void = () => {}
  const sourceEnded = new Promise<void>((resolve) => {
    ended = resolve
  })
  async function* source() {
    try {
      for (;;) yield* inChunks(gzipSync(archive('gnu'), { level: 0 }), [4_096])
    } finally {
      ended()
    }
  }
  for await (const { path } of readTarball(source())) if (path !== '') break
  await sourceEnded
})
