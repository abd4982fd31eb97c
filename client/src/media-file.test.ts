/** Downloads that are interrupted, and where they are saved. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createMediaFile } from './media-file.ts'

const text = '0123456789'

/** A response that breaks after some bytes. */
const broken = (length: number, headers: Record<string, string> = {}, status = 200) => {
  const bytes = new TextEncoder().encode(text.slice(0, length))
  let isSent = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (isSent) controller.error(new Error('reset'))
      else controller.enqueue(bytes)
      isSent = true
    },
  })
  return new Response(body, { status, headers: { etag: '"1"', ...headers } })
}

const rest = (from: number, headers: Record<string, string> = {}) =>
  new Response(text.slice(from), {
    status: 206,
    headers: { etag: '"1"', 'content-range': `bytes ${from}-9/10`, ...headers },
  })

const read = async (first: Response, ...others: Response[]) => {
  const asked: (string | undefined)[] = []
  const file = createMediaFile(first, async ({ range }) => {
    asked.push(range)
    const next = others.shift()
    if (next === undefined) throw new Error('no further response')
    return next
  })
  return { asked, text: new TextDecoder().decode(await file.bytes()) }
}

test('a download continues at the first byte that is missing', async () => {
  const { asked, text: received } = await read(broken(4), rest(4))
  expect({ asked, received }).toEqual({ asked: ['bytes=4-'], received: text })
})

test.for([
  ['it begins elsewhere', broken(4), rest(3, { 'content-range': 'bytes 3-9/10' })],
  ['it has no range', broken(4), new Response(text, { status: 206 })],
  ['the file is another one', broken(4), rest(4, { etag: '"2"' })],
  ['the whole file comes again', broken(4), new Response(text)],
] as const)('a rest is refused if %s', async ([, first, next]) => {
  await expect(read(first, next)).rejects.toMatchObject({ code: 'invalid_response', status: 412 })
})

test.for([
  ['a range of the caller', broken(4, { 'content-range': 'bytes 2-9/10' }, 206)],
  ['a compressed response', broken(4, { 'content-encoding': 'gzip' })],
  ['a weak tag', broken(4, { etag: 'W/"1"' })],
] as const)('%s is not continued, because its bytes are counted differently', async ([, first]) => {
  await expect(read(first, rest(4))).rejects.toMatchObject({ code: 'connection_failed' })
})

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'media-file-'))
})
afterAll(() => rm(directory, { recursive: true }))

const save = (path: string) => createMediaFile(new Response(text)).save(path)

test('a link stays a link, and its target gets the file', async () => {
  const target = join(directory, 'target.mp4')
  const link = join(directory, 'link.mp4')
  await writeFile(target, 'old')
  await symlink(target, link)
  await save(link)
  expect(await readlink(link)).toBe(target)
  expect(await readFile(target, 'utf8')).toBe(text)
})

test('what is not a file, such as a pipe or a device, is written to and never replaced', async () => {
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])
  const [received] = await Promise.all([readFile(pipe, 'utf8'), save(pipe)])
  expect(received).toBe(text)
  expect((await stat(pipe)).isFIFO()).toBe(true)
})
