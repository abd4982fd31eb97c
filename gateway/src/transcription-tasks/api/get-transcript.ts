import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import type { TranscriptFormat } from '@kinora/contract/operations/audio'

import { speaksOpenAi } from '../../audio/dialect.ts'
import { engineHeaders } from '../../audio/provider-problem.ts'
import { needsSegments, writeTranscript } from '../../audio/transcript-formats.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { isFinal } from '../../tasks/task.ts'
import { mergeTranscripts } from '../segments/merge-transcripts.ts'
import { readTranscripts } from '../segments/segment-store.ts'
import type { TranscriptionTask } from '../transcription-task.ts'
import { readTranscription } from './read-transcription.ts'

const assertHasTranscript = ({ state, errorMessage, expiresAt, hasTranscript }: TranscriptionTask) => {
  if (!isFinal(state)) {
    throw new ApiError('task_not_completed', {
      message: `The task is ${state}. Its transcript is not available yet.`,
    })
  }
  if (state === 'failed') {
    throw new ApiError('task_failed', {
      message: `The task has failed and has no transcript: ${errorMessage ?? ''}`,
    })
  }
  if (!hasTranscript || expiresAt === null || expiresAt.getTime() <= Date.now()) {
    throw new ApiError('media_expired', { message: 'The transcript has expired and was removed.' })
  }
}

export const getTranscript =
  ({ database }: { database: Database }): Handler<typeof operations.getTranscript> =>
  async ({ path, query, header, caller }) => {
    const task = await readTranscription(database, path.id, caller.accountId)
    const format = (query.response_format ?? 'json') as TranscriptFormat
    assertHasTranscript(task)
    const { order } = task
    if (needsSegments(format) && !order.hasTimestamps) {
      throw new ApiError('invalid_parameter', {
        param: 'response_format',
        message: `'${task.modelName}' does not provide timestamps. Use json or text.`,
      })
    }
    const { transcripts, endMs } = await readTranscripts(database, task.id)
    const merged = mergeTranscripts(transcripts)
    const durationSeconds = Math.max(task.durationMs, endMs) / 1000
    const { headers, body } = writeTranscript(
      { ...merged, durationSeconds, words: undefined },
      {
        task: order.task,
        format,
        durationSeconds,
        language: order.language,
        wantsWords: false,
        isOpenAi: speaksOpenAi({ header, caller }),
      },
    )
    return { headers: { ...engineHeaders(merged.engine), ...headers }, body }
  }
