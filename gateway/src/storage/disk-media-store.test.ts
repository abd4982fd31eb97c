import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { createDiskMediaStore } from './disk-media-store.ts'
import type { MediaStore } from './media-store.ts'

let directory: string
let store: MediaStore
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-store-'))
  store = await createDiskMediaStore(directory)
})
afterEach(() => rm(directory, { recursive: true }))

const filesNow = async () => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() ? entry.name : []))
}
const textOf = async (stream: Readable | undefined) =>
  Buffer.concat((await stream?.toArray()) ?? []).toString()

test('a stored file has a size and a hash, and can be read whole or in part', async () => {
  const stored = await store.put(
    'videos/a.mp4',
    Readable.from([Buffer.from('hello '), Buffer.from('world')]),
    100,
  )
  expect(stored).toEqual({ sizeBytes: 11, sha256: createHash('sha256').update('hello world').digest('hex') })
  expect(await textOf(await store.open('videos/a.mp4'))).toBe('hello world')
  expect(await textOf(await store.open('videos/a.mp4', { start: 6, end: 8 }))).toBe('wor')
})

test('an upload that is too large or interrupted leaves no file', async () => {
  await expect(store.put('a', Readable.from([Buffer.alloc(101)]), 100)).rejects.toThrow(RangeError)
  const broken = Readable.from(
    (async function* () {
      yield Buffer.alloc(10)
      throw new Error('cut off')
    })(),
  )
  await expect(store.put('b', broken, 100)).rejects.toThrow('cut off')
  expect(await filesNow()).toEqual([])
})

test('a second file under the same key replaces the first', async () => {
  await store.put('a', Readable.from([Buffer.from('first')]), 100)
  await store.put('a', Readable.from([Buffer.from('second')]), 100)
  expect(await textOf(await store.open('a'))).toBe('second')
  expect(await filesNow()).toEqual(['a'])
})

test('an adopted file is moved into the store', async () => {
  const path = join(store.spoolDirectory, 'upload')
  await writeFile(path, 'image')
  await store.adopt('references/x', path)
  expect(await filesNow()).toEqual(['x'])
  expect(await store.withLocalPath('references/x', (local) => readFile(local, 'utf8'))).toBe('image')
})

/** The number of open file descriptors of this process in the store. */
const openFiles = async () => {
  const targets = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  )
  return targets.filter((target) => target.startsWith(directory)).length
}

test('a file is opened on the first read, and closed at its end or when the stream is destroyed', async () => {
  await store.put('a', Readable.from([Buffer.alloc(1_000_000)]), 1_000_000)
  const [unread, left, whole] = [await store.open('a'), await store.open('a'), await store.open('a')]
  expect(await openFiles()).toBe(0)
  await once(left as Readable, 'readable')
  expect(await openFiles()).toBe(1)
  left?.destroy()
  unread?.read()
  // While the file is being opened.
  unread?.destroy()
  await Promise.all([left, unread].map((stream) => once(stream as Readable, 'close')))
  expect(await openFiles()).toBe(0)
  expect(await textOf(whole)).toHaveLength(1_000_000)
  expect(await openFiles()).toBe(0)
})

test('a range that ends after the end of the file fails, so that nobody takes it for complete', async () => {
  await store.put('a', Readable.from([Buffer.from('short')]), 10)
  for (const start of [0, 5])
    await expect(store.open('a', { start, end: 9 }).then(textOf)).rejects.toThrow('has 5 bytes')
})

test('a missing file opens as undefined, and removing it is not an error', async () => {
  expect(await store.open('nothing')).toBeUndefined()
  await store.remove('nothing')
})

test('a folder is listed recursively, and so is the spool', async () => {
  for (const key of ['videos/2026-01-01/a.mp4', 'videos/b.mp4', 'variants/c.jpg']) {
    await store.put(key, Readable.from([Buffer.from('x')]), 10)
  }
  await writeFile(join(store.spoolDirectory, 'upload'), 'x')
  const keysIn = async (folder: string) => {
    const keys: string[] = []
    for await (const { key, writtenAt } of store.list(folder)) {
      expect(Date.now() - writtenAt.getTime()).toBeLessThan(60_000)
      keys.push(key)
    }
    return keys.toSorted()
  }
  expect(await keysIn('videos')).toEqual(['videos/2026-01-01/a.mp4', 'videos/b.mp4'])
  expect(await keysIn('spool')).toEqual(['spool/upload'])
  expect(await keysIn('nothing')).toEqual([])
})
