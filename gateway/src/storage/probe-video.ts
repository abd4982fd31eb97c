/** Probes a video file. MP4 is read directly; for other files, ffprobe runs with only the supported demuxers. */
import type { IsDamaged } from './decode-sample.ts'
import type { MediaPrograms } from './media-programs.ts'
import { probeMp4, type ProbedVideo } from './probe-mp4.ts'
import { createSandbox, isInvalidFileError, onlyVideoFiles } from './sandbox.ts'

export type ProbeVideo = (
  path: string,
  signal?: AbortSignal,
  /** What is known of its packets from a check while it arrived. */
  packetsAreIntact?: boolean,
) => Promise<ProbedVideo | undefined>

const limits = { timeoutMs: 20_000, outputBytesMax: 1_048_576 }

const parameters = (path: string) => [
  ...['-v', 'error', ...onlyVideoFiles],
  ...['-show_entries', 'stream=codec_type,width,height:format=duration', '-of', 'json', path],
]

/** The probe returns undefined for a file that is not a playable video. With `isDamaged`, its media data is checked as well. */
export const createProbeVideo = (programs: MediaPrograms, isDamaged?: IsDamaged): ProbeVideo => {
  const runOnFile = createSandbox(programs.ffprobePath, programs)
  const runProbe: ProbeVideo = async (path, signal) => {
    let output: Buffer
    try {
      output = await runOnFile(path, parameters, { ...limits, ...(signal !== undefined && { signal }) })
    } catch (error) {
      if (isInvalidFileError(error)) return undefined
      throw error
    }
    const { streams = [], format = {} } = JSON.parse(output.toString('utf8')) as {
      streams?: { codec_type?: string; width?: number; height?: number }[]
      format?: { duration?: string }
    }
    const video = streams.find(({ codec_type }) => codec_type === 'video')
    const durationMs = Math.round(Number(format.duration) * 1000)
    if (video?.width === undefined || video.height === undefined || !(durationMs > 0)) return undefined
    return { width: video.width, height: video.height, durationMs }
  }
  return async (path, signal, packetsAreIntact) => {
    if (packetsAreIntact === false) return undefined
    const checksPackets = isDamaged !== undefined && packetsAreIntact === undefined
    const read = await probeMp4(path, { checksPackets })
    const probed = read === 'not-mp4' ? await runProbe(path, signal) : read
    return probed !== undefined && (await isDamaged?.(path, probed.durationMs)) === true ? undefined : probed
  }
}
