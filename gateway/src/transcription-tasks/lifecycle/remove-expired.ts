import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import {
  clearRecordingKey,
  dropExpiredTranscripts,
  findLeftoverRecordings,
} from '../transcription-task-store.ts'

const perTick = 100

/** Removes expired transcripts, and recordings of ended tasks. */
export const removeExpired = async ({
  postgres,
  mediaStore,
  log,
}: {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}): Promise<void> => {
  try {
    await dropExpiredTranscripts(postgres, perTick)
    for (const { day, id, recordingKey } of await findLeftoverRecordings(postgres, perTick)) {
      await mediaStore.remove(recordingKey)
      await clearRecordingKey(postgres, day, id)
    }
  } catch (error) {
    log.warn({ err: error }, 'transcription.not-removed')
  }
}
