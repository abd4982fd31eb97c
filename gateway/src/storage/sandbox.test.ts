import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { escapes, openTarget, perl } from '../../../sandbox/test/escapes.ts'
import { mediaPrograms } from '../../test/kit/media-programs.ts'
import { minutes } from '../../test/kit/time-limits.ts'
import { createLineSandbox, createSandbox, isInvalidFileError } from './sandbox.ts'

/** No program here takes as long, however busy the machine is. */
const timeoutMs = minutes(10)

/** The processes with this text in their command line, including those in sandboxes. */
const processesWith = async (text: string): Promise<string[]> => {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')))
  return ids.filter((_, index) => lines[index]?.includes(text))
}

/** Plays hours of silence in real time. */
const endless = (mark: string) => () => [
  ...['-v', 'error', '-nostdin', '-re', '-f', 'lavfi', '-i', 'anullsrc', '-t', '9999'],
  ...['-metadata', `title=${mark}`, '-f', 'null', '-'],
]

// Some programs are killed while their sandbox is being set up.
test('an aborted program is killed together with its sandbox, at any time', async () => {
  const run = createSandbox('ffmpeg', mediaPrograms())
  for (let tried = 0; tried < 20; tried += 1) {
    const mark = randomUUID()
    const stop = new AbortController()
    const limits = { timeoutMs, outputBytesMax: 1_000, signal: stop.signal }
    const running = run('/dev/null', endless(mark), limits)
    running.catch(() => undefined)
    await expect.poll(() => processesWith(mark), { interval: 1 + tried }).not.toEqual([])
    stop.abort()
    await expect(running).rejects.toMatchObject({ name: 'AbortError' })
    expect(await processesWith(mark)).toEqual([])
  }
})

test('an aborted program is killed while its lines are being read', async () => {
  const mark = randomUUID()
  const stop = new AbortController()
  const lines = createLineSandbox('ffmpeg', mediaPrograms())('/dev/null', endless(mark), {
    timeoutMs,
    signal: stop.signal,
  })
  const reading = lines.next()
  reading.catch(() => undefined)
  await expect.poll(() => processesWith(mark)).not.toEqual([])
  stop.abort()
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
  expect(await processesWith(mark)).toEqual([])
})

test('a program that exceeds its time or output limit is killed, and the file does not count as invalid', async () => {
  const run = createSandbox('ffmpeg', mediaPrograms())
  const slow = await run('/dev/null', endless(randomUUID()), { timeoutMs: 1, outputBytesMax: 1_000 }).catch(
    (error: unknown) => error,
  )
  expect(slow).toMatchObject({ killed: true })
  expect(isInvalidFileError(slow)).toBe(false)
  const noise = () => ['-v', 'error', '-f', 'lavfi', '-i', 'anoisesrc', '-f', 's16le', 'pipe:1']
  const large = await run('/dev/null', noise, { timeoutMs, outputBytesMax: 1_000 }).catch(
    (error: unknown) => error,
  )
  expect(large).toMatchObject({ killed: true })
  expect(isInvalidFileError(large)).toBe(false)
  const fault = await run('/dev/null', () => ['-i', '/nowhere'], {
    timeoutMs,
    outputBytesMax: 1_000,
  }).catch((error: unknown) => error)
  expect(isInvalidFileError(fault)).toBe(true)
})

test('a program is not started if its signal is already aborted', async () => {
  const mark = randomUUID()
  const limits = { timeoutMs, outputBytesMax: 1_000, signal: AbortSignal.abort() }
  await expect(
    createSandbox('ffmpeg', mediaPrograms())('/dev/null', endless(mark), limits),
  ).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(await processesWith(mark)).toEqual([])
})

test.for(escapes)('a hostile decoder fails if it $title', async ({ script }) => {
  await using target = await openTarget()
  const run = createSandbox(perl, mediaPrograms({ REQUIRE_SANDBOX: true }))
  const limits = { timeoutMs, outputBytesMax: 1_000 }
  const output = await run(target.file, () => ['-e', script(target)], limits).then(
    String,
    (error: unknown) => {
      if (!isInvalidFileError(error)) throw error
      return ''
    },
  )
  expect(output).not.toContain('escaped')
  expect(target.connections()).toBe(0)
})

test('a decoder sees the file it was given and cannot change it', async () => {
  await using target = await openTarget()
  const run = createSandbox(perl, mediaPrograms({ REQUIRE_SANDBOX: true }))
  const script = `open(my $in, '<', $ARGV[0]) or die; print <$in>; print open(my $out, '>>', $ARGV[0]) ? ' escaped' : ''`
  const limits = { timeoutMs, outputBytesMax: 1_000 }
  expect(String(await run(target.file, (file) => ['-e', script, file], limits))).toBe('not a video')
})
