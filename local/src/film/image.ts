import { spawn, type ChildProcess } from 'node:child_process'
import { open, type FileHandle } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

import { mountOfProgram, startSandboxed } from '@kinora/sandbox/sandbox'
import sharp from 'sharp'

import { RenderFailure, sandboxProblemIn } from '../ffmpeg/render-failure.ts'
import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import type { FfmpegTool } from '../ffmpeg/sandbox.ts'

type ImageUse = 'reference' | 'character'

const decoder = fileURLToPath(new URL('decode-image.ts', import.meta.url))
/** Where the decoder finds sharp, whichever package manager has installed it. */
const modules =
  /^.*?\/node_modules(?=\/)/.exec(createRequire(import.meta.url).resolve('sharp'))?.[0] ?? '/usr'
const decodeSecondsMax = 60
const outputBytesMax = 40e6 * 4 + 100
const errorLengthMax = 1000

/**
 * Decodes an uploaded image, upright and in sRGB, and writes it as a PNG of our own. The decoder runs in the sandbox, and
 * returns only pixels, so that nothing of the file reaches a decoder of this process.
 */
export async function decodeImage(
  tool: FfmpegTool,
  uploaded: string,
  use: ImageUse,
  file: string,
): Promise<void> {
  await using handle = await open(uploaded, 'r')
  if (!(await looksLikeImage(handle))) {
    throw new RenderFailure('invalid_image', `The ${use} is not a PNG, JPEG, WebP or GIF image.`)
  }
  const { output, errors } = await readOutput(startDecoder(tool, handle))
  const image = readPixels(output)
  if (image === undefined) {
    throw new RenderFailure('invalid_image', `The ${use} image could not be decoded.`, {
      detail: sandboxProblemIn(errors),
    })
  }
  await sharp(image.data, { raw: image.raw }).png({ compressionLevel: 1 }).toFile(file)
}

/** Crops a decoded image to `size` around its most salient part. */
export async function cropReference(
  reference: string,
  size: { width: number; height: number },
  file: string,
): Promise<void> {
  await sharp(reference)
    .resize(size.width, size.height, { fit: 'cover', position: 'attention' })
    .flatten({ background: '#000000' })
    .png({ compressionLevel: 1 })
    .toFile(file)
}

function startDecoder({ bubblewrapPath }: FfmpegTool, uploaded: FileHandle): ChildProcess {
  const stdio: [number, 'pipe', 'pipe'] = [uploaded.fd, 'pipe', 'pipe']
  if (bubblewrapPath === undefined) return spawn(process.execPath, [decoder], { env: {}, stdio })
  const mounts = [modules, decoder].flatMap((path) => ['--ro-bind', path, path])
  return startSandboxed(
    { bubblewrapPath },
    {
      program: process.execPath,
      parameters: [decoder],
      mounts: [...mountOfProgram(process.execPath), ...mounts],
      cpuSecondsMax: decodeSecondsMax,
      fileBytesMax: 0,
    },
    stdio,
  )
}

/** The output is empty if the decoder fails, takes too long or writes too much. */
async function readOutput(child: ChildProcess): Promise<{ output: Buffer; errors: string }> {
  const chunks: Buffer[] = []
  let bytes = 0
  let errors = ''
  const timer = setTimeout(() => killSandboxed(child), decodeSecondsMax * 1000)
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > outputBytesMax) killSandboxed(child)
    else chunks.push(chunk)
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-errorLengthMax)
  })
  const isComplete = await new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      errors = error.message
      resolve(false)
    })
    child.once('close', (code) => resolve(code === 0))
  })
  clearTimeout(timer)
  return { output: isComplete ? Buffer.concat(chunks) : Buffer.alloc(0), errors }
}

/** The program in the sandbox may have been taken over, so its statements are checked. */
function readPixels(output: Buffer) {
  const line = /^(\d{1,8}) (\d{1,8}) ([34])\n/.exec(output.subarray(0, 40).toString('latin1'))
  if (line === null) return undefined
  const [width, height] = [Number(line[1]), Number(line[2])]
  const channels = line[3] === '4' ? 4 : 3
  const data = output.subarray(line[0].length)
  if (width * height === 0 || data.length !== width * height * channels) return undefined
  return { data, raw: { width, height, channels } as const }
}

/** sharp also reads SVG, PDF and other formats, so only these four are passed to it. */
async function looksLikeImage(uploaded: FileHandle): Promise<boolean> {
  // With a position, reading does not move the one from which the decoder starts.
  const { buffer, bytesRead } = await uploaded.read(Buffer.alloc(12), 0, 12, 0)
  const start = buffer.subarray(0, bytesRead).toString('latin1')
  return (
    start.startsWith('\x89PNG\r\n\x1a\n') ||
    start.startsWith('\xff\xd8\xff') ||
    start.startsWith('GIF87a') ||
    start.startsWith('GIF89a') ||
    (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP')
  )
}
