import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { BrokenArchive, readTar } from './read-tar.ts'

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

async function* inPieces(bytes: Buffer, lengths: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length]!
    yield bytes.subarray(at, at + length)
    at += length
  }
}

const readAll = async (chunks: AsyncIterable<Buffer>, isRead: (path: string) => boolean = () => true) => {
  const found: Record<string, Buffer> = {}
  for await (const { path, bytes, content } of readTar(chunks)) {
    if (!isRead(path)) continue
    const pieces: Buffer[] = []
    for await (const piece of content()) pieces.push(piece)
    found[path] = Buffer.concat(pieces)
    expect(found[path].length).toBe(bytes)
  }
  return found
}

test.each(['gnu', 'pax', 'posix'])(
  'reads what tar wrote in its %s format, long paths included',
  async (format) => {
    const found = await readAll(inPieces(archive(format), [10_000]))
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(contents).toSorted())
    for (const [path, content] of Object.entries(contents)) expect(found[path]?.equals(content)).toBe(true)
  },
)

test('it does not matter how the bytes are cut, nor which files are read', async () => {
  const bytes = archive('gnu')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 8 }),
      fc.subarray(Object.keys(contents)),
      async (lengths, paths) => {
        const found = await readAll(inPieces(bytes, lengths), (path) => paths.includes(path))
        expect(Object.keys(found).toSorted()).toEqual(paths.toSorted())
        for (const path of paths) expect(found[path]?.equals(contents[path]!)).toBe(true)
      },
    ),
    { numRuns: 30 },
  )
})

test('a file of which only the beginning is read is skipped to its end', async () => {
  const paths: string[] = []
  for await (const { path, content } of readTar(inPieces(archive('gnu'), [700]))) {
    paths.push(path)
    for await (const piece of content()) if (piece.length > 0) break
  }
  expect(paths.toSorted()).toEqual(Object.keys(contents).toSorted())
})

test('what is cut off or no archive at all is refused', async () => {
  const bytes = archive('gnu')
  const cut = bytes.subarray(0, bytes.indexOf(contents['package/weights.bin']!) + 20_000)
  await expect(readAll(inPieces(cut, [4_096]))).rejects.toThrow(BrokenArchive)
  await expect(readAll(inPieces(Buffer.alloc(5_000, 'not a tar'), [4_096]))).rejects.toThrow(BrokenArchive)
})
