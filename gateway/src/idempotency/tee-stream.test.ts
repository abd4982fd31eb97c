import { expect, test } from 'vitest'

import { teeStream, type Tee } from './tee-stream.ts'

const collect = (chunks: AsyncIterator<string>, sizeMax = 100) => {
  const seen: unknown[] = []
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const tee: Tee<string> = {
    chunks,
    sizeOf: ({ length }) => length,
    sizeMax,
    stop: () => void seen.push('stopped'),
    onEnd: async (copied) => {
      seen.push(copied)
      resolve()
    },
    onBroken: async () => {
      seen.push('broken')
      resolve()
    },
  }
  return { stream: teeStream(tee), seen, over }
}

const all = async (stream: AsyncIterable<string>) => {
  const chunks: string[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

async function* letters() {
  yield* ['a', 'b', 'c']
}

test('all chunks are copied before the stream ends', async () => {
  const { stream, seen } = collect(letters())
  expect(await all(stream)).toEqual(['a', 'b', 'c'])
  expect(seen).toEqual([['a', 'b', 'c']])
})

test('a stream that is too large is passed on but not copied', async () => {
  const { stream, seen } = collect(letters(), 2)
  expect(await all(stream)).toEqual(['a', 'b', 'c'])
  expect(seen).toEqual([undefined])
})

test('a reader that stops does not end the source', async () => {
  const { stream, seen, over } = collect(letters())
  for await (const chunk of stream) if (chunk === 'a') break
  await over
  expect(seen).toEqual([['a', 'b', 'c']])
})

test('a reader that stops before the first chunk does not end the source', async () => {
  const { stream, seen, over } = collect(letters())
  await stream.return()
  await over
  expect(seen).toEqual([['a', 'b', 'c']])
})

test('a reader that stops ends a source that is too large to store', async () => {
  const { stream, seen, over } = collect(letters(), 2)
  for await (const chunk of stream) if (chunk === 'a') break
  await over
  expect(seen).toEqual(['stopped', 'broken'])
})

test('a failing source calls onBroken and is not stored', async () => {
  const failing = async function* () {
    yield 'a'
    throw new Error('the source broke')
  }
  const { stream, seen } = collect(failing())
  await expect(all(stream)).rejects.toThrow('the source broke')
  expect(seen).toEqual(['broken'])
})
