/** Long recordings that resemble speech, and a transcriber that runs the worker's steps without an engine. */
import { randomUUID } from 'node:crypto'

import type { Run } from '../../src/platform/engine/run-key.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Database } from '../../src/platform/postgres.ts'
import { claimInTurn } from '../../src/tasks/queue-store.ts'
import {
  carriedTranscriptions,
  runTranscription,
  type RecordingDependencies,
} from '../../src/transcription-tasks/lifecycle/transcribe-recording.ts'
import { recordingQueue } from '../../src/transcription-tasks/recording-queue-store.ts'
import { createCutSegment } from '../../src/transcription-tasks/segments/cut-segment.ts'
import { createReadLevels } from '../../src/transcription-tasks/segments/read-levels.ts'
import { transcriptionTables } from '../../src/transcription-tasks/transcription-task.ts'
import { mediaPrograms } from './media-programs.ts'
import { waveOf } from './sound.ts'
import { vendorKey, type VendorGateway } from './vendor-gateway.ts'
import { vendorRouter } from './vendor-providers.ts'

export interface Pause {
  atSeconds: number
  seconds: number
}

const bytesPerSecond = 32_000

/** Bursts of sound with short gaps, like words, and the given pauses. */
export const spoken = (seconds: number, pauses: Pause[] = []): Buffer => {
  const second = Int16Array.from({ length: bytesPerSecond / 2 }, (_, at) =>
    at % 4_000 < 400 ? 0 : Math.round(6_000 * Math.sin(at / 11) * Math.sin(at / 700)),
  )
  const samples = Buffer.alloc(Math.round(seconds * 16_000) * 2)
  const burst = Buffer.from(second.buffer)
  for (let at = 0; at < samples.length; at += burst.length) burst.copy(samples, at)
  for (const pause of pauses) {
    const from = Math.round(pause.atSeconds * 16_000) * 2
    samples.fill(0, from, from + Math.round(pause.seconds * 16_000) * 2)
  }
  return waveOf(samples)
}

/** Claims due tasks, as a tick of the dispatcher does. */
export const claimRecordings = (database: Database, concurrency = 16): Promise<Run[]> =>
  claimInTurn(database, transcriptionTables, { ...recordingQueue, concurrency }, randomUUID())

export interface Transcriber {
  /** Claims all due tasks, as the dispatcher does, runs each as far as possible, and returns their number. */
  work: () => Promise<number>
  /** Runs all started tasks again, as if the engine had lost them. */
  restart: () => Promise<number>
  dependencies: RecordingDependencies
}

export const createTranscriber = async ({
  database: { postgres },
  mediaStore,
  vendor,
}: VendorGateway): Promise<Transcriber> => {
  const dependencies: RecordingDependencies = {
    postgres,
    mediaStore,
    router: await vendorRouter(vendor, vendorKey, postgres),
    readLevels: createReadLevels(mediaPrograms()),
    cutSegment: createCutSegment(mediaPrograms()),
    compareDurations: () => undefined,
    retentionMsOf: async () => 7 * 86_400_000,
    log: createLog({ level: 'silent' }, 'test'),
    wakeDispatcher: () => undefined,
    stopping: new AbortController().signal,
  }
  const execute = (run: Run) => runTranscription(dependencies, run)
  const carried = carriedTranscriptions(postgres)
  return {
    dependencies,
    restart: async () => {
      const renewed = await carried.renew(await carried.readRuns())
      await Promise.all(renewed.map(execute))
      return renewed.length
    },
    work: async () => {
      const overdue = await carried.renew(await carried.findOverdue())
      const starts = [...overdue, ...(await claimRecordings(postgres))]
      await Promise.all(starts.map(execute))
      return starts.length
    },
  }
}
