/** The media programs of this machine, for tests of parts that need no running API. */
import { createLog } from '../../src/platform/log.ts'
import { createMediaPrograms, type MediaSettings } from '../../src/storage/media-programs.ts'

export const mediaPrograms = (given: Partial<MediaSettings> = {}) =>
  createMediaPrograms(
    {
      FFMPEG_PATH: 'ffmpeg',
      FFPROBE_PATH: 'ffprobe',
      BUBBLEWRAP_PATH: 'bwrap',
      REQUIRE_SANDBOX: false,
      ...given,
    },
    createLog({ level: 'silent' }, 'test'),
  )
