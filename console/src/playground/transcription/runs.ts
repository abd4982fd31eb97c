/** The last recording that was sent in this tab of the browser. Kept while the other screens are open. */
import { Kinora, type Transcription, type TranscriptionTask } from '@kinora/client'
import { useSyncExternalStore } from 'react'

import { recordingBytesMax } from '../../generated/audio-limits.ts'
import { queryClient } from '../../queries.ts'
import { createFileSound, type FileSound } from '../audio/file-sound.ts'
import { createUploadFetch } from './upload-fetch.ts'

export interface TranscriptionFields {
  mode: 'transcribe' | 'translate'
  model: string
  language: string
  prompt: string
  timestamps: 'none' | 'segment' | 'word'
}

export interface Run {
  file: File
  sound: FileSound
  mode: TranscriptionFields['mode']
  state: 'uploading' | 'working' | 'task' | 'done' | 'stopped' | 'failed'
  /** From 0 to 1. */
  sent: number
  tookMs?: number
  /** Of a recording that is too long to wait for. */
  taskId?: string
  /** The text so far. */
  text: string
  result?: Transcription
  error?: unknown
}

let run: Run | undefined
let stopping = new AbortController()
const watchers = new Set<() => void>()

const setRun = (changed: Run | undefined) => {
  run = changed
  for (const watcher of watchers) watcher()
}
const change = (changes: Partial<Run>) => run && setRun({ ...run, ...changes })

export const useRun = (): Run | undefined =>
  useSyncExternalStore(
    (onChange) => {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    () => run,
  )

export const needsTask = (file: File): boolean => file.size > recordingBytesMax

export const buildFields = ({ mode, model, language, prompt, timestamps }: TranscriptionFields) => ({
  model,
  ...(mode === 'transcribe' && language !== '' && { language }),
  ...(prompt.trim() !== '' && { prompt }),
  ...(timestamps !== 'none' && { response_format: 'verbose_json' as const }),
  ...(mode === 'transcribe' &&
    timestamps === 'word' && { timestamp_granularities: ['segment' as const, 'word' as const] }),
})

/** Recognition may take as long as the recording. */
const timeoutMs = 3_600_000

const openClient = (signal: AbortSignal) =>
  new Kinora({
    baseUrl: location.origin,
    maxRetries: 0,
    timeoutMs,
    fetch: createUploadFetch((sent) => {
      if (!signal.aborted) change({ sent, state: sent < 1 ? 'uploading' : 'working' })
    }),
  })

const send = async (file: File, fields: TranscriptionFields, signal: AbortSignal) => {
  const client = openClient(signal)
  const body = { ...buildFields(fields), file }
  if (needsTask(file)) {
    const { response_format: _format, ...recording } = body
    const task: TranscriptionTask = await client.transcriptionTasks.create(
      { ...recording, task: fields.mode },
      { signal },
    )
    change({ taskId: task.id, state: 'task' })
    return
  }
  if (fields.mode === 'translate') {
    change({ result: await client.translations.create(body, { signal }) })
  } else if (fields.timestamps === 'none') {
    const events = client.transcriptions.create({ ...body, stream: true }, { signal })
    for await (const event of events) {
      if (event.type === 'transcript.text.delta') change({ text: (run?.text ?? '') + event.delta })
      else change({ text: event.text, result: { text: event.text } })
    }
  } else {
    change({ result: await client.transcriptions.create(body, { signal }) })
  }
  change({ state: 'done' })
}

export const startRun = async (file: File, fields: TranscriptionFields): Promise<void> => {
  stopping.abort()
  stopping = new AbortController()
  const { signal } = stopping
  const startedMs = performance.now()
  run?.sound.close()
  setRun({ file, sound: createFileSound(file), mode: fields.mode, state: 'uploading', sent: 0, text: '' })
  try {
    await send(file, fields, signal)
    change({ tookMs: performance.now() - startedMs })
  } catch (error) {
    if (!signal.aborted) change({ state: 'failed', error })
  }
  void queryClient.invalidateQueries({ queryKey: ['me'] })
}

export const stopRun = (): void => {
  stopping.abort()
  change({ state: 'stopped' })
}
