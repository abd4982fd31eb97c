/**
 * The programs that decode media and the sandbox they run in. With REQUIRE_SANDBOX, files are refused while the sandbox
 * does not work; the request or step can be repeated once it does. Otherwise the programs then run without a sandbox.
 */
import { ApiError } from '@kinora/contract/errors'
import { findSandbox, SandboxUnavailable, type Sandbox } from '@kinora/sandbox/sandbox'

import type { Log } from '../platform/log.ts'

export interface MediaPrograms {
  ffmpegPath: string
  ffprobePath: string
  /** Undefined if programs run without a sandbox. Throws `service_unavailable` if one is required and does not work. */
  findSandbox: () => Promise<Sandbox | undefined>
}

export interface MediaSettings {
  FFMPEG_PATH: string
  FFPROBE_PATH: string
  BUBBLEWRAP_PATH: string
  REQUIRE_SANDBOX: boolean
}

/** The error for a file that cannot be decoded for a reason that is not in the file. Only the log contains the cause. */
export const mediaUnavailable = (cause: unknown) =>
  new ApiError('service_unavailable', {
    message: 'Media files cannot be processed at the moment. Try again later.',
    headers: { 'retry-after': '10' },
    cause,
  })

export const createMediaPrograms = (settings: MediaSettings, log: Log): MediaPrograms => {
  let finding: Promise<Sandbox | undefined> | undefined
  const find = async (): Promise<Sandbox | undefined> => {
    try {
      return await findSandbox(settings.BUBBLEWRAP_PATH)
    } catch (error) {
      if (!(error instanceof SandboxUnavailable)) throw error
      const { message: problem } = error
      if (!settings.REQUIRE_SANDBOX) {
        log.warn({ problem: `${problem} Media is decoded without a sandbox.` }, 'sandbox.unavailable')
        return undefined
      }
      log.error({ problem: `${problem} Media is refused (REQUIRE_SANDBOX).` }, 'sandbox.unavailable')
      // Tried again with the next file, because the cause may be temporary.
      finding = undefined
      throw mediaUnavailable(error)
    }
  }
  return {
    ffmpegPath: settings.FFMPEG_PATH,
    ffprobePath: settings.FFPROBE_PATH,
    findSandbox: () => (finding ??= find()),
  }
}

/** Logs at the start whether the sandbox works. The start does not wait for it and does not fail without it. */
export const reportSandbox = ({ findSandbox }: MediaPrograms): void => {
  findSandbox().catch(() => undefined)
}
