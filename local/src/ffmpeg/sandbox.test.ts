import { text } from 'node:stream/consumers'

import { expect, test } from 'vitest'

import { escapes, openTarget, perl } from '../../../sandbox/test/escapes.ts'
import { startLocalProvider } from '../server/server.ts'
import { findFfmpeg, startProgram } from './sandbox.ts'

const runPerl = async (directory: string, script: string) => {
  const tool = await findFfmpeg({ ffmpegPath: 'ffmpeg', requiresSandbox: true })
  const args = ['-e', script]
  const child = startProgram(
    { ...tool, path: perl },
    directory,
    args,
    ['ignore', 'pipe', 'ignore'],
    ['video'],
  )
  return text(child.stdout!)
}

test.for(escapes)('a hostile decoder fails if it $title', async ({ script }) => {
  await using target = await openTarget()
  expect(await runPerl(target.directory, script(target))).not.toContain('escaped')
  expect(target.connections()).toBe(0)
})

test('a decoder writes to its directory, but not to the read-only files in it', async () => {
  await using target = await openTarget()
  const script = `print open(my $own, '>', 'own') ? 'own ' : ''; print open(my $in, '>>', 'video') ? 'escaped' : ''`
  expect(await runPerl(target.directory, script)).toBe('own ')
})

test('the provider does not start without a required sandbox, and its message contains the fix', async () => {
  await using target = await openTarget()
  const starting = startLocalProvider({
    ...{ host: '127.0.0.1', port: 0, directory: target.directory, modelDirectory: target.directory },
    ...{ ffmpegPath: 'ffmpeg', bubblewrapPath: '/nowhere/bwrap', requiresSandbox: true },
    log: () => undefined,
  })
  await expect(starting).rejects.toThrow(/\/nowhere\/bwrap was not found.*Install bubblewrap/)
})
