/**
 * Runs the escape attempts through the sandboxes of the gateway and of the built-in provider, and decodes a real file in
 * both. With the parameter `refused`, it expects that media is refused because the sandbox does not work.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { createLog } from '../../gateway/src/platform/log.ts'
import { createMediaPrograms } from '../../gateway/src/storage/media-programs.ts'
import { createSandbox } from '../../gateway/src/storage/sandbox.ts'
import { findFfmpeg, startProgram } from '../../local/src/ffmpeg/sandbox.ts'
import { escapes, openTarget, perl } from './escapes.ts'

const isRefusalExpected = process.argv[2] === 'refused'
const programs = createMediaPrograms(
  { FFMPEG_PATH: 'ffmpeg', FFPROBE_PATH: 'ffprobe', BUBBLEWRAP_PATH: 'bwrap', REQUIRE_SANDBOX: true },
  createLog({ level: 'silent' }, 'prove'),
)
const limits = { timeoutMs: 60_000, outputBytesMax: 1_000_000 }
let failures = 0

const report = (isGood: boolean, place: string, title: string, detail: string) => {
  if (!isGood) failures += 1
  console.log(`${isGood ? '✓' : '✗'} ${place.padEnd(9)} ${title.padEnd(62)} ${detail.trim().slice(0, 200)}`)
}

const messageOf = (error: unknown) => {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}

const inGateway = (file: string, parameters: string[], program = perl) =>
  createSandbox(program, programs)(file, () => parameters, limits).then(String, messageOf)

const inProvider = async (directory: string, parameters: string[], program = perl) => {
  const tool = await findFfmpeg({ ffmpegPath: 'ffmpeg', requiresSandbox: true })
  const child = startProgram({ ...tool, path: program }, directory, parameters, ['ignore', 'pipe', 'pipe'])
  const [output, errors] = await Promise.all([text(child.stdout!), text(child.stderr!)])
  return output === '' ? errors : output
}

const attemptAll = async () => {
  for (const { title, script } of escapes) {
    await using target = await openTarget()
    const parameters = ['-e', script(target)]
    for (const [place, output] of [
      ['gateway', await inGateway(target.file, parameters)],
      ['provider', await inProvider(target.directory, parameters)],
    ] as const) {
      const isContained = !output.includes('escaped') && !/prlimit:|bwrap:/.test(output)
      report(isContained && target.connections() === 0, place, title, output)
    }
  }
}

const decode = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kinora-decode-'))
  try {
    const file = join(directory, 'video.mkv')
    const source = [
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=1920x1080:duration=1',
      '-f',
      'lavfi',
      '-i',
      'sine=d=1',
    ]
    spawnSync('ffmpeg', ['-v', 'error', ...source, '-c:v', 'libx264', '-c:a', 'aac', file])
    const probe = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', '/video']
    const duration = await inGateway(file, probe, 'ffprobe')
    report(Number(duration) >= 1, 'gateway', 'decodes a file that it was given', `${duration.trim()} s`)
    const encode = ['-v', 'error', '-nostdin', '-i', 'video.mkv', '-c:v', 'libx264', '-f', 'mpegts', 'pipe:1']
    const bytes = (await inProvider(directory, encode, '/usr/bin/ffmpeg')).length
    report(bytes > 10_000, 'provider', 'transcodes a file that it was given', `${bytes} characters`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const expectRefusal = async () => {
  await using target = await openTarget()
  const parameters = ['-e', `print 'escaped'`]
  const refused = 'is refused where the sandbox does not work'
  const gateway = await inGateway(target.file, parameters)
  report(/sandbox.*does not work/.test(gateway), 'gateway', refused, gateway)
  const provider = await inProvider(target.directory, parameters).catch(messageOf)
  report(/sandbox.*does not work/.test(provider), 'provider', refused, provider)
}

if (isRefusalExpected) await expectRefusal()
else {
  await attemptAll()
  await decode()
}
process.exitCode = failures === 0 ? 0 : 1
