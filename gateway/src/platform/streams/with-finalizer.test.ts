import { once } from 'node:events'

import { expect, test } from 'vitest'

import { readableFrom, withFinalizer } from './with-finalizer.ts'

async function* letters(): AsyncGenerator<Buffer, void, undefined> {
  yield* ['a', 'b', 'c'].map((letter) => Buffer.from(letter))
}

async function* broken(): AsyncGenerator<Buffer, void, undefined> {
  yield Buffer.from('a')
  throw new Error('the source broke')
}

const finalized = (source: AsyncGenerator<Buffer, void, undefined>) => {
  const calls: string[] = []
  const stream = withFinalizer(source, async () => {
    calls.push('finalized')
  })
  return { stream, calls }
}

test('runs before the stream ends', async () => {
  const { stream, calls } = finalized(letters())
  const values: string[] = []
  for await (const value of stream) values.push(value.toString())
  expect(values).toEqual(['a', 'b', 'c'])
  expect(calls).toEqual(['finalized'])
  await stream.return()
  expect(calls).toEqual(['finalized'])
})

test('runs when the source fails, and the error is passed on', async () => {
  const { stream, calls } = finalized(broken())
  await stream.next()
  await expect(stream.next()).rejects.toThrow('the source broke')
  expect(calls).toEqual(['finalized'])
})

test('runs once when the reader stops in the middle, and ends the source', async () => {
  const source = letters()
  const { stream, calls } = finalized(source)
  for await (const value of stream) if (value.toString() === 'a') break
  await Promise.all([stream.return(), stream.return()])
  expect(calls).toEqual(['finalized'])
  expect(await source.next()).toEqual({ done: true, value: undefined })
})

test.each(['return', 'throw'] as const)('runs on %s before the first value', async (way) => {
  const { stream, calls } = finalized(letters())
  await stream[way](new Error('the reader failed') as never).catch(() => undefined)
  expect(calls).toEqual(['finalized'])
  expect(await stream.next()).toEqual({ done: true, value: undefined })
})

test.each([undefined, new Error('no listener')])(
  'runs when a stream of bytes is destroyed unread, with %s, and nothing is thrown',
  async (error) => {
    const { stream, calls } = finalized(letters())
    const bytes = readableFrom(stream)
    bytes.destroy(error)
    // `once` rejects where an error is emitted, which is part of what is tested.
    await once(bytes, 'close').catch(() => undefined)
    expect(calls).toEqual(['finalized'])
  },
)

test('a stream of bytes ends after the finalizer', async () => {
  const { stream, calls } = finalized(letters())
  const bytes = readableFrom(stream).on('end', () => calls.push('end'))
  expect(Buffer.concat(await bytes.toArray()).toString()).toBe('abc')
  expect(calls).toEqual(['finalized', 'end'])
})
