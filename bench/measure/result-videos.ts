/** Playable videos of the sizes that are measured. They are made once per machine. */
import { execFile } from 'node:child_process'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Four seconds, so that a bit rate of 2 Mbit/s makes a file of 1 MB. */
const seconds = 4
const scene = `testsrc2=s=1280x720:r=24:d=${seconds},noise=alls=60:allf=t`
/** The encoder exceeds the rate that it is given. */
const shareOfRate = 0.9
/** Most is the same four seconds again and again. */
const encodedMegabytesMax = 8

/** The tables of an MP4 are at its end, unless it is made for playing while it is loaded. */
export type Layout = 'tables last' | 'tables first'

export interface ResultVideo {
  directory: string
  /** As in `vendor:video=`. */
  name: string
  sizeBytes: number
}

const make = async (path: string, megabytes: number, layout: Layout): Promise<void> => {
  const movflags = layout === 'tables first' ? ['-movflags', '+faststart'] : []
  const times = Math.max(1, Math.round(megabytes / encodedMegabytesMax))
  const megabits = (megabytes / times / seconds) * 8 * shareOfRate
  const [part, whole] = [`${path}.part.mp4`, `${path}.whole.mp4`]
  const rate = ['-b:v', `${megabits}M`, '-maxrate', `${megabits}M`, '-bufsize', `${megabits}M`]
  const encode = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', ...rate]
  await run('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', scene, ...encode, part])
  const repeat = ['-stream_loop', String(times - 1), '-i', part, '-c', 'copy', ...movflags]
  await run('ffmpeg', ['-v', 'error', '-y', ...repeat, whole])
  await rename(whole, path)
  await rm(part)
}

export const makeResultVideo = async (megabytes: number, layout: Layout): Promise<ResultVideo> => {
  const directory = join(tmpdir(), 'kinora-bench-videos')
  const name = `${megabytes}-mb-${layout.replace(' ', '-')}`
  const path = join(directory, `${name}.mp4`)
  await mkdir(directory, { recursive: true })
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) await make(path, megabytes, layout)
  return { directory, name, sizeBytes: (found ?? (await stat(path))).size }
}
