/** The contract of the media store, which every store fulfils. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempDisposable, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { beforeAll, describe, expect, test } from 'vitest'

import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { FileTooLarge, MediaNotFound, MediaNotRemoved } from '../../src/storage/port/media-store.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { client, createBucket, useCredentials } from '../kit/buckets.ts'

beforeAll(useCredentials)

interface TestStorage extends Storage, AsyncDisposable {}

const onDisk = async (): Promise<TestStorage> => {
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-storage-'))
  const storage = await openStorage({ MEDIA_DIRECTORY: directory.path })
  return { ...storage, [Symbol.asyncDispose]: () => directory.remove() }
}

const inBucket = async (): Promise<TestStorage> => {
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-storage-'))
  const { name, url } = await createBucket()
  const storage = await openStorage({ MEDIA_DIRECTORY: directory.path, MEDIA_STORE: parseBucketUrl(url) })
  return {
    ...storage,
    [Symbol.asyncDispose]: async () => {
      // No test may leave parts of an upload.
      expect((await client.send(new ListMultipartUploadsCommand({ Bucket: name }))).Uploads).toBeUndefined()
      await directory.remove()
    },
  }
}

/** During a migration. */
const onTwoDisks = async (): Promise<TestStorage> => {
  const directory = await mkdtempDisposable(join(tmpdir(), 'kinora-storage-'))
  const storage = await openStorage({
    MEDIA_DIRECTORY: join(directory.path, 'current'),
    MEDIA_STORE_ALSO_READ: join(directory.path, 'other'),
  })
  return { ...storage, [Symbol.asyncDispose]: () => directory.remove() }
}

const bytesOf = async (stream: Readable) => Buffer.concat(await stream.toArray())
const textOf = async (stream: Readable) => (await bytesOf(stream)).toString()
const sha256Of = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

const putText = ({ mediaStore }: Storage, key: string, text: string) =>
  mediaStore.put(key, Readable.from([Buffer.from(text)]), { sizeBytesMax: 1_000 })

const keysIn = async ({ mediaStore }: Storage, folder: string) => {
  const keys: string[] = []
  for await (const { key } of mediaStore.list(folder)) keys.push(key)
  return keys.toSorted()
}

/** A stream of many chunks. After the first `failsAfter`, it fails. */
const streamOf = (chunks: Buffer[], failsAfter = Infinity) =>
  Readable.from(
    (async function* () {
      for (const [index, chunk] of chunks.entries()) {
        if (index >= failsAfter) throw new Error('cut off')
        yield chunk
      }
    })(),
    { objectMode: false },
  )

const mebibytes = (count: number) => Array.from({ length: count }, () => randomBytes(1_048_576))

describe.each([
  ['disk', onDisk],
  ['S3', inBucket],
  ['combined', onTwoDisks],
] as const)('the %s store', (_, open) => {
  test('returns the size and the hash of what it stores, and reads it whole or in part', async () => {
    await using storage = await open()
    const { mediaStore } = storage
    const stored = await mediaStore.put(
      'videos/2026-01-01/a.mp4',
      streamOf(['hello ', 'world'].map((text) => Buffer.from(text))),
      {
        sizeBytesMax: 11,
      },
    )
    expect(stored).toEqual({ sizeBytes: 11, sha256: sha256Of('hello world') })
    expect(await textOf(await mediaStore.open('videos/2026-01-01/a.mp4'))).toBe('hello world')
    const read = async (start: number, end: number) =>
      textOf(await mediaStore.open('videos/2026-01-01/a.mp4', { range: { start, end } }))
    expect(await read(6, 8)).toBe('wor')
    expect(await read(10, 10)).toBe('d')
    expect(await read(0, 10)).toBe('hello world')
  })

  test('stores a file of many parts unchanged', async () => {
    await using storage = await open()
    const chunks = mebibytes(20)
    const whole = Buffer.concat(chunks)
    const { sha256 } = await storage.mediaStore.put('videos/large', streamOf(chunks), {
      sizeBytesMax: whole.length,
    })
    expect(sha256).toBe(sha256Of(whole))
    expect(sha256Of(await bytesOf(await storage.mediaStore.open('videos/large')))).toBe(sha256)
    const range = { start: 8_388_600, end: 8_388_700 }
    expect(await bytesOf(await storage.mediaStore.open('videos/large', { range }))).toEqual(
      whole.subarray(range.start, range.end + 1),
    )
  })

  test('stores an empty file', async () => {
    await using storage = await open()
    expect(await storage.mediaStore.put('videos/empty', streamOf([]), { sizeBytesMax: 0 })).toEqual({
      sizeBytes: 0,
      sha256: sha256Of(''),
    })
    expect(await textOf(await storage.mediaStore.open('videos/empty'))).toBe('')
  })

  test.each([1, 20])('leaves nothing of a stream that fails, with %i MiB', async (count) => {
    await using storage = await open()
    const { mediaStore, spool } = storage
    const put = mediaStore.put('videos/a', streamOf([...mebibytes(count), Buffer.from('rest')], count), {
      sizeBytesMax: 100_000_000,
    })
    await expect(put).rejects.toThrow('cut off')
    expect(await mediaStore.find('videos/a')).toBeUndefined()
    expect(await keysIn(storage, 'videos')).toEqual([])
    expect(await readdir(spool.directory)).toEqual([])
  })

  test('leaves nothing of a stream that is too large', async () => {
    await using storage = await open()
    const put = storage.mediaStore.put('videos/a', streamOf(mebibytes(12)), { sizeBytesMax: 11_000_000 })
    await expect(put).rejects.toThrow(FileTooLarge)
    expect(await storage.mediaStore.find('videos/a')).toBeUndefined()
    expect(await readdir(storage.spool.directory)).toEqual([])
  })

  test('leaves nothing of a put that is aborted', async () => {
    await using storage = await open()
    const stop = new AbortController()
    const endless = Readable.from(
      (async function* () {
        for (let index = 0; ; index += 1) {
          if (index === 12) stop.abort(new Error('superseded'))
          yield randomBytes(1_048_576)
        }
      })(),
      { objectMode: false },
    )
    const put = storage.mediaStore.put('videos/a', endless, { sizeBytesMax: Infinity, signal: stop.signal })
    await expect(put).rejects.toThrow()
    expect(endless.destroyed).toBe(true)
    expect(await storage.mediaStore.find('videos/a')).toBeUndefined()
    expect(await readdir(storage.spool.directory)).toEqual([])
  })

  test.each([0, 1, 8, 9, 20])('receives %i MiB, which become an object when they are kept', async (count) => {
    await using storage = await open()
    const { mediaStore, spool } = storage
    const chunks = mebibytes(count)
    const whole = Buffer.concat(chunks)
    const seen: Buffer[] = []
    const received = await mediaStore.receive('videos/a', streamOf(chunks), {
      sizeBytesMax: whole.length,
      onChunk: (chunk) => seen.push(chunk),
    })
    expect(received).toMatchObject({ sizeBytes: whole.length, sha256: sha256Of(whole) })
    expect(whole.equals(Buffer.concat(seen))).toBe(true)
    expect(whole.equals(await readFile(received.path))).toBe(true)
    expect(await mediaStore.find('videos/a')).toBeUndefined()
    await received.keep()
    expect(whole.equals(await bytesOf(await mediaStore.open('videos/a')))).toBe(true)
    expect(await readdir(spool.directory)).toEqual([])
  })

  test.each([1, 20])('leaves nothing of %i MiB that are discarded, too large or cut off', async (count) => {
    await using storage = await open()
    const { mediaStore, spool } = storage
    const receive = (source: Readable, sizeBytesMax = 100_000_000) =>
      mediaStore.receive('videos/a', source, { sizeBytesMax })
    await (await receive(streamOf(mebibytes(count)))).discard()
    await expect(receive(streamOf(mebibytes(count)), count * 1_000_000)).rejects.toThrow(FileTooLarge)
    await expect(receive(streamOf([...mebibytes(count), Buffer.from('rest')], count))).rejects.toThrow(
      'cut off',
    )
    const stop = new AbortController()
    const endless = Readable.from(
      (async function* () {
        for (let index = 0; ; index += 1) {
          if (index === count) stop.abort(new Error('superseded'))
          yield randomBytes(1_048_576)
        }
      })(),
      { objectMode: false },
    )
    const options = { sizeBytesMax: Infinity, signal: stop.signal }
    await expect(mediaStore.receive('videos/a', endless, options)).rejects.toThrow()
    expect(endless.destroyed).toBe(true)
    expect(await mediaStore.find('videos/a')).toBeUndefined()
    expect(await keysIn(storage, 'videos')).toEqual([])
    expect(await readdir(spool.directory)).toEqual([])
  })

  test('keeps the old object if its replacement fails, and replaces it otherwise', async () => {
    await using storage = await open()
    await putText(storage, 'videos/a', 'first')
    const options = { sizeBytesMax: 100 }
    const failing = storage.mediaStore.put(
      'videos/a',
      streamOf([Buffer.from('x'), Buffer.from('y')], 1),
      options,
    )
    await expect(failing).rejects.toThrow('cut off')
    expect(await textOf(await storage.mediaStore.open('videos/a'))).toBe('first')
    await putText(storage, 'videos/a', 'second')
    expect(await textOf(await storage.mediaStore.open('videos/a'))).toBe('second')
  })

  test('stores a copy of a file with its time of modification, or moves the file', async () => {
    await using storage = await open()
    const { mediaStore, spool } = storage
    const path = spool.newPath()
    const writtenAt = new Date('2026-01-02T03:04:05Z')
    await writeFile(path, 'recording')
    await utimes(path, writtenAt, writtenAt)
    await mediaStore.putFile('recordings/copied', path)
    expect(await mediaStore.find('recordings/copied')).toEqual({ sizeBytes: 9, writtenAt })
    expect(await readFile(path, 'utf8')).toBe('recording')
    await mediaStore.adopt('recordings/moved', path)
    expect(await textOf(await mediaStore.open('recordings/moved'))).toBe('recording')
    expect(await readdir(spool.directory)).toEqual([])
  })

  test('reports a missing object with its own error', async () => {
    await using storage = await open()
    const { mediaStore, spool } = storage
    const missing = { name: 'Error', key: 'videos/none' }
    const attempts = [
      () => mediaStore.open('videos/none'),
      () => mediaStore.open('videos/none', { range: { start: 0, end: 1 } }),
      () => mediaStore.withLocalPath('videos/none', async () => undefined),
      () => mediaStore.copyTo('videos/none', spool.newPath()),
    ]
    for (const attempt of attempts) {
      const error = await attempt().catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(MediaNotFound)
      expect(error).toMatchObject(missing)
    }
    expect(await mediaStore.find('videos/none')).toBeUndefined()
    expect(await readdir(spool.directory)).toEqual([])
  })

  test('an object that is removed while its stream is unread is missing for the reader', async () => {
    await using storage = await open()
    await putText(storage, 'videos/a', 'text')
    const reading = storage.mediaStore.open('videos/a')
    await storage.mediaStore.remove('videos/a')
    const text = await reading.then(textOf).catch((error: unknown) => error)
    // A store may have opened the object before.
    expect(text === 'text' || text instanceof MediaNotFound).toBe(true)
  })

  test('a range that ends after the end of the object fails, so that nobody takes it for complete', async () => {
    await using storage = await open()
    await putText(storage, 'videos/a', 'short')
    for (const start of [0, 5]) {
      const reading = storage.mediaStore.open('videos/a', { range: { start, end: 9 } })
      await expect(reading.then(textOf)).rejects.toThrow('has 5 bytes')
    }
  })

  test('provides a local copy for programs, and none after the work', async () => {
    await using storage = await open()
    await putText(storage, 'videos/a', 'frames')
    const work = async (path: string) => ({ path, text: await readFile(path, 'utf8') })
    const { text } = await storage.mediaStore.withLocalPath('videos/a', work)
    expect(text).toBe('frames')
    const failing = storage.mediaStore.withLocalPath('videos/a', async () => {
      throw new Error('not a video')
    })
    await expect(failing).rejects.toThrow('not a video')
    expect(await readdir(storage.spool.directory)).toEqual([])
    await storage.mediaStore.copyTo('videos/a', join(storage.spool.directory, 'copy'))
    expect((await stat(join(storage.spool.directory, 'copy'))).size).toBe(6)
  })

  test('removes one object or many; missing ones are not an error', async () => {
    await using storage = await open()
    const keys = Array.from({ length: 30 }, (__, index) => `variants/${index}.jpg`)
    for (const key of [...keys, 'variants/kept.jpg', 'variants/one.jpg']) await putText(storage, key, 'x')
    await storage.mediaStore.remove('variants/one.jpg')
    await storage.mediaStore.remove('variants/one.jpg')
    await storage.mediaStore.removeMany([...keys, 'variants/none.jpg'])
    await storage.mediaStore.removeMany([])
    expect(await keysIn(storage, 'variants')).toEqual(['variants/kept.jpg'])
  })

  test('lists a folder recursively, with sizes and times, and no other folder', async () => {
    await using storage = await open()
    for (const key of ['videos/2026-01-01/a.mp4', 'videos/b.mp4', 'variants/c.jpg', 'videos-not/d'])
      await putText(storage, key, 'x')
    expect(await keysIn(storage, 'videos')).toEqual(['videos/2026-01-01/a.mp4', 'videos/b.mp4'])
    for await (const { sizeBytes, storedAt } of storage.mediaStore.list('videos')) {
      expect(sizeBytes).toBe(1)
      expect(Math.abs(Date.now() - storedAt.getTime())).toBeLessThan(3_600_000)
    }
    expect(await keysIn(storage, 'nothing')).toEqual([])
  })
})

test('the disk store names the files that it could not remove, and removes the others', async () => {
  await using storage = await onDisk()
  await putText(storage, 'videos/folder/inside', 'x')
  await putText(storage, 'videos/a', 'x')
  const error = await storage.mediaStore
    .removeMany(['videos/folder', 'videos/a'])
    .catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(MediaNotRemoved)
  expect([...(error as MediaNotRemoved).failures.keys()]).toEqual(['videos/folder'])
  expect(await storage.mediaStore.find('videos/a')).toBeUndefined()
})
