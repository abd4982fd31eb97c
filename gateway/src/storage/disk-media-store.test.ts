import { once } from 'node:events'
import { mkdtemp, readFile, readdir, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { openStorage } from './open-storage.ts'
import type { MediaStore } from './port/media-store.ts'
import type { Spool } from './port/spool.ts'

let directory: string
let store: MediaStore
let spool: Spool
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-store-'))
  ;({ mediaStore: store, spool } = await openStorage({ MEDIA_DIRECTORY: directory }))
})
afterEach(() => rm(directory, { recursive: true }))

const filesNow = async () => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() ? entry.name : []))
}
const put = (key: string, bytes: Buffer | string) =>
  store.put(key, Readable.from([Buffer.from(bytes)]), { sizeBytesMax: 1_000_000 })

test('a stored file is a file under its key, with nothing else', async () => {
  await put('videos/a', 'first')
  await put('videos/a', 'second')
  expect(await filesNow()).toEqual(['a'])
  expect(await readFile(join(directory, 'videos', 'a'), 'utf8')).toBe('second')
})

test('an upload that is too large or interrupted leaves no file in the spool', async () => {
  const options = { sizeBytesMax: 100 }
  await expect(store.put('a', Readable.from([Buffer.alloc(101)]), options)).rejects.toThrow(RangeError)
  const broken = Readable.from(
    (async function* () {
      yield Buffer.alloc(10)
      throw new Error('cut off')
    })(),
  )
  await expect(store.put('b', broken, options)).rejects.toThrow('cut off')
  expect(await filesNow()).toEqual([])
})

test('an adopted file is moved into the store', async () => {
  const path = spool.newPath()
  await writeFile(path, 'image')
  const { ino } = await stat(path)
  await store.adopt('references/x', path)
  expect(await filesNow()).toEqual(['x'])
  expect(await store.withLocalPath('references/x', async (local) => (await stat(local)).ino)).toBe(ino)
})

/** The number of open file descriptors of this process in the store. */
const openFiles = async () => {
  const targets = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  )
  return targets.filter((target) => target.startsWith(directory)).length
}

test('a file is opened on the first read, and closed at its end or when the stream is destroyed', async () => {
  await put('a', Buffer.alloc(1_000_000))
  const [unread, left, whole] = [await store.open('a'), await store.open('a'), await store.open('a')]
  expect(await openFiles()).toBe(0)
  await once(left, 'readable')
  expect(await openFiles()).toBe(1)
  left.destroy()
  unread.read()
  // While the file is being opened.
  unread.destroy()
  await Promise.all([left, unread].map((stream) => once(stream, 'close')))
  expect(await openFiles()).toBe(0)
  expect(Buffer.concat(await whole.toArray())).toHaveLength(1_000_000)
  expect(await openFiles()).toBe(0)
})

test('a file is listed with the time at which it was written', async () => {
  await put('videos/a', 'x')
  await utimes(join(directory, 'videos', 'a'), new Date(0), new Date(0))
  const listed: unknown[] = []
  for await (const file of store.list('videos')) listed.push(file)
  expect(listed).toEqual([{ key: 'videos/a', sizeBytes: 1, storedAt: new Date(0) }])
})

test('the spool lists the files that processes left behind, and removes them', async () => {
  const path = spool.newPath()
  await writeFile(path, 'x')
  const usedAt = new Date(Date.now() + 60_000)
  await utimes(path, usedAt, usedAt)
  const listed: unknown[] = []
  for await (const file of spool.list()) listed.push(file)
  expect(listed).toEqual([{ path, usedAt }])
  await spool.remove(path)
  expect(await readdir(spool.directory)).toEqual([])
})
