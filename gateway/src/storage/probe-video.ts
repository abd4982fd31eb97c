/**
 * Finds out what a finished file really is. An MP4 is read here; anything else is put to ffprobe, which is let
 * at the container formats we keep and at nothing else.
 */
import { probeMp4, type ProbedVideo } from './probe-mp4.ts'
import { createSandbox, isVerdict, onlyVideoFiles } from './sandbox.ts'

export type ProbeVideo = (path: string, signal?: AbortSignal) => Promise<ProbedVideo | undefined>

const limits = { timeoutMs: 20_000, outputBytesMax: 1_048_576 }

const question = (path: string) => [
  ...['-v', 'error', ...onlyVideoFiles],
  ...['-show_entries', 'stream=codec_type,width,height:format=duration', '-of', 'json', path],
]

/** Makes the probe. It answers undefined for a file that is no playable video. */
export const createProbeVideo = (ffprobePath: string): ProbeVideo => {
  const runOnFile = createSandbox(ffprobePath)
  const askProgram: ProbeVideo = async (path, signal) => {
    let output: Buffer
    try {
      output = await runOnFile(path, question, { ...limits, ...(signal !== undefined && { signal }) })
    } catch (error) {
      if (isVerdict(error)) return undefined
      throw error
    }
    const { streams = [], format = {} } = JSON.parse(output.toString('utf8')) as {
      streams?: { codec_type?: string; width?: number; height?: number }[]
      format?: { duration?: string }
    }
    const image = streams.find(({ codec_type }) => codec_type === 'video')
    const durationMs = Math.round(Number(format.duration) * 1000)
    if (image?.width === undefined || image.height === undefined || !(durationMs > 0)) return undefined
    return { width: image.width, height: image.height, durationMs }
  }
  return async (path, signal) => {
    const probed = await probeMp4(path)
    return probed === 'not-mp4' ? askProgram(path, signal) : probed
  }
}
