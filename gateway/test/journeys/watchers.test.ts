import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { openStorage } from '../../src/storage/open-storage.ts'
import { pixelBytes } from '../kit/answers.ts'
import { isLongForm } from '../kit/long-form.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'
import { startTaskLife } from '../kit/task-life.ts'

const watcherCount = isLongForm ? 1_000 : 300
const mebibyte = 1_048_576
const mebibytesMax = 40

interface Watcher {
  /** Resolves with all received text when the stream has ended. */
  ended: Promise<string>
}

/** Opens a stream on its own connection and resolves after its first event. */
const watch = (stack: Stack, taskId: string): Promise<Watcher> =>
  new Promise((resolve, reject) => {
    const watching = request(`${stack.url}/v1/videos/${taskId}/events`, {
      agent: false,
      headers: { authorization: `Bearer ${stack.key}` },
    })
    watching.on('error', reject).on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += String(chunk)
        if (text.includes('event: accepted')) resolve({ ended })
      })
      const ended = new Promise<string>((end) => response.on('close', () => end(text)))
    })
    watching.end()
  })

const inChunks = async <Item, Result>(items: Item[], work: (item: Item) => Promise<Result>) => {
  const results: Result[] = []
  for (let index = 0; index < items.length; index += 50) {
    results.push(...(await Promise.all(items.slice(index, index + 50).map(work))))
  }
  return results
}

const residentBytes = async (pid: number | undefined): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

test(`${watcherCount} event streams need little memory, and all receive the end`, async () => {
  await using stack = await startStack({ workers: 0, environment: { LOG_LEVEL: 'warn', ...manyRequests } })
  const storage = await openStorage({ MEDIA_DIRECTORY: join(stack.directory, 'media') })
  const life = startTaskLife({ ...stack, ...storage })
  const tasks = await inChunks(Array.from({ length: watcherCount * 2 }), () => stack.create('A whale'))

  // The first ones grow the heap to its working size, so that the others show the memory of the watchers.
  const first = await inChunks(tasks.slice(0, watcherCount), (taskId) => watch(stack, taskId))
  const before = await residentBytes(stack.api.pid())
  const watchers = [
    ...first,
    ...(await inChunks(tasks.slice(watcherCount), (taskId) => watch(stack, taskId))),
  ]
  const during = await residentBytes(stack.api.pid())
  const grown = (during - before) / mebibyte
  console.log(
    `${watcherCount} more watchers: ${grown.toFixed(1)} MiB more, ${(during / mebibyte).toFixed(0)} MiB in all`,
  )

  const startedMs = performance.now()
  await inChunks(tasks, (taskId) => life.complete(taskId, stack.accountId))
  const texts = await Promise.all(watchers.map(({ ended }) => ended))
  console.log(`all ended within ${Math.round(performance.now() - startedMs)} ms`)
  for (const text of texts) {
    expect(text.match(/^event: \w+$/gm)).toEqual(['event: accepted', 'event: completed'])
  }
  expect(grown).toBeLessThan(mebibytesMax)
  life.close()
})

test('a streaming chat reply does not retain the images of its request', async () => {
  await using stack = await startStack({ workers: 0, environment: { LOG_LEVEL: 'warn', ...manyRequests } })
  const image = Buffer.concat([pixelBytes, Buffer.alloc(10_000_000)])
  const parts = [
    { type: 'text', text: 'A whale' },
    { type: 'image_url', image_url: `data:image/png;base64,${image.toString('base64')}` },
  ]
  const body = JSON.stringify({
    model: 'vidB-2',
    stream: true,
    messages: [{ role: 'user', content: parts }],
  })
  const open = async () => {
    const { body: events } = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body,
    })
    const reader = (events as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toContain('task_id: ')
    return reader
  }
  const readers = [await open()]
  const before = await residentBytes(stack.api.pid())
  while (readers.length < 21) readers.push(await open())
  const grown = ((await residentBytes(stack.api.pid())) - before) / mebibyte
  console.log(`20 streams for requests with images of 10 MB: ${grown.toFixed(0)} MiB more`)
  // The request bodies alone are 260 MiB.
  expect(grown).toBeLessThan(200)
  await Promise.all(readers.map((reader) => reader.cancel()))
})
