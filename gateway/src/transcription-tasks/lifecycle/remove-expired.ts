import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { dropExpiredTranscripts, forgetRecording, recordingsLeft } from '../transcription-task-store.ts'

const perTurn = 100

/** Removes transcripts that are past their time, and recordings whose task ended without removing them. */
export const clearAway = async ({
  postgres,
  mediaStore,
  log,
}: {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}): Promise<void> => {
  try {
    await dropExpiredTranscripts(postgres, perTurn)
    for (const { day, id, recordingKey } of await recordingsLeft(postgres, perTurn)) {
      await mediaStore.remove(recordingKey)
      await forgetRecording(postgres, day, id)
    }
  } catch (error) {
    log.warn({ err: error }, 'transcription.not-removed')
  }
}
