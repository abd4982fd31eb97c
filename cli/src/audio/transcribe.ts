/** `kinora transcribe` and `kinora translate`. */
import { stat, writeFile } from 'node:fs/promises'

import type { Kinora, Transcription, TranscriptionTask } from '@kinora/client'
import { KinoraError } from '@kinora/client'
import type { TranscriptFormat } from '@kinora/contract/operations/audio'

import { connect } from '../connection/connect.ts'
import { checkOutput } from '../connection/output-file.ts'
import { exitCodes } from '../frame/exit-code.ts'
import { UsageError } from '../frame/usage-error.ts'
import { print, printJson, printText } from '../terminal/print.ts'
import { createTaskProgress } from '../terminal/task-progress.ts'

interface TranscribeInput {
  file: string
  model: string | undefined
  format: TranscriptFormat
  language?: string | undefined
  prompt: string | undefined
  output: string | undefined
  json: boolean
  profile: string | undefined
}

/** Larger recordings are transcribed by a task. */
const directBytesMax = 25 * 1_048_576
const pollEveryMs = 1_000

const chooseModel = async (kinora: Kinora, model: string | undefined): Promise<string> => {
  if (model !== undefined) return model
  const { data } = await kinora.models.list()
  const found = data.find(({ kind, state }) => kind === 'transcription' && state === 'active')
  if (found !== undefined) return found.id
  throw new UsageError('The key may not use a model that transcribes. See kinora models list')
}

const readSize = async (file: string): Promise<number> => {
  if (file === '-') return 0
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() === true) return found.size
  throw new UsageError(`${file} is not a file.`)
}

/** Waits for the end of a transcription task. Ctrl-C leaves it running. */
const followTask = async (kinora: Kinora, id: string): Promise<TranscriptionTask> => {
  const progress = createTaskProgress()
  const stop = new AbortController()
  const onInterrupt = () => {
    const text = `The recording is still being transcribed, as the task ${id}.`
    stop.abort(Object.assign(new Error(text), { exitCode: exitCodes.interrupted }))
  }
  process.once('SIGINT', onInterrupt)
  try {
    for (;;) {
      const task = await kinora.transcriptionTasks.get(id, { signal: stop.signal })
      progress.show(task)
      if (task.status === 'completed') return task
      if (task.status === 'failed') {
        const { code = 'upstream_error', message = 'The task failed.' } = task.error ?? {}
        throw new KinoraError(code, message, { taskId: id })
      }
      await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
      stop.signal.throwIfAborted()
    }
  } finally {
    process.off('SIGINT', onInterrupt)
    progress.end()
  }
}

const present = async (
  { output, json }: TranscribeInput,
  transcript: string | Transcription,
): Promise<void> => {
  const text = typeof transcript === 'string' ? transcript.trimEnd() : JSON.stringify(transcript)
  if (output !== undefined && output !== '-') {
    await writeFile(output, `${text}\n`)
    return json ? printJson({ file: output }) : print(output)
  }
  printText(text)
}

const fieldsOf = async (kinora: Kinora, { file, model, language, prompt }: TranscribeInput) => ({
  file: file === '-' ? process.stdin : { path: file },
  model: await chooseModel(kinora, model),
  ...(language !== undefined && { language }),
  ...(prompt !== undefined && { prompt }),
})

/** `--json` prints the object of the API, unless the format is one of JSON already. */
const chooseFormat = ({ json, format }: TranscribeInput): TranscriptFormat =>
  json && !format.endsWith('json') ? 'json' : format

export const transcribe = async (input: TranscribeInput): Promise<void> => {
  await checkOutput(input.output)
  const sizeBytes = await readSize(input.file)
  const { kinora } = await connect(input)
  const response_format = chooseFormat(input)
  const fields = await fieldsOf(kinora, input)
  if (sizeBytes <= directBytesMax) {
    return present(input, await kinora.transcriptions.create({ ...fields, response_format, dry_run: false }))
  }
  const { id } = await kinora.transcriptionTasks.create({ ...fields, dry_run: false })
  await followTask(kinora, id)
  await present(input, await kinora.transcriptionTasks.transcript(id, { response_format }))
}

export const translate = async (input: TranscribeInput): Promise<void> => {
  await checkOutput(input.output)
  await readSize(input.file)
  const { kinora } = await connect(input)
  const response_format = chooseFormat(input)
  const fields = await fieldsOf(kinora, input)
  await present(input, await kinora.translations.create({ ...fields, response_format, dry_run: false }))
}
