/** Uploaded images are decoded in the sandbox only, and what comes out of it is not trusted. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { findFfmpeg, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { decodeImage } from './image.ts'

let directory: string
let tool: FfmpegTool
let uploaded: string

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'kinora-image-'))
  tool = await findFfmpeg({ ffmpegPath: 'ffmpeg' })
  uploaded = path.join(directory, 'uploaded')
  const create = { width: 40, height: 20, channels: 3 as const, background: '#ff8000' }
  await sharp({ create }).withMetadata({ orientation: 6 }).jpeg().toFile(uploaded)
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** A shell script in the place of bubblewrap. */
const inPlaceOfBubblewrap = async (name: string, script: string): Promise<FfmpegTool> => {
  const bubblewrapPath = path.join(directory, name)
  await writeFile(bubblewrapPath, `#!/bin/sh\n${script}\n`)
  await chmod(bubblewrapPath, 0o755)
  return { ...tool, bubblewrapPath }
}

test('an image is decoded in the sandbox, upright', async () => {
  const log = path.join(directory, 'parameters')
  const recorded = await inPlaceOfBubblewrap(
    'recorded',
    `echo "$@" > ${log}; exec ${tool.bubblewrapPath} "$@"`,
  )
  const file = path.join(directory, 'decoded.png')
  await decodeImage(recorded, uploaded, 'reference', file)
  expect(await readFile(log, 'utf8')).toMatch(/--unshare-all .*decode-image/)
  const { data, info } = await sharp(file).raw().toBuffer({ resolveWithObject: true })
  expect(info).toMatchObject({ width: 20, height: 40, channels: 3 })
  expect([...data.subarray(0, 3)].map((value) => Math.round(value / 16))).toEqual([16, 8, 0])
})

test('an image is not decoded without the sandbox if there is one that fails', async () => {
  const refusing = await inPlaceOfBubblewrap('refusing', 'echo "bwrap: no permission" >&2; exit 1')
  await expect(
    decodeImage(refusing, uploaded, 'reference', path.join(directory, 'none.png')),
  ).rejects.toMatchObject({ code: 'invalid_image', detail: 'bwrap: no permission' })
})

test.for([
  ['fewer pixels than stated', `printf '2 1 3\\nabc'`],
  ['more pixels than stated', `printf '1 1 3\\nabcd'`],
  ['no pixels', `printf '0 0 3\\n'`],
  ['another number of channels', `printf '1 1 5\\nabcde'`],
  ['a file instead of pixels', `cat ${import.meta.filename}`],
  ['pixels, but fails', `printf '1 1 3\\nabc'; exit 1`],
])('a decoder that returns %s is not believed', async ([, script = '']) => {
  const lying = await inPlaceOfBubblewrap('lying', script)
  await expect(
    decodeImage(lying, uploaded, 'character', path.join(directory, 'none.png')),
  ).rejects.toMatchObject({ code: 'invalid_image', message: 'The character image could not be decoded.' })
})
