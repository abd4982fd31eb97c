import { copyFile, link, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'

import type { Programs } from '../ffmpeg/programs.ts'
import { findFfmpeg, type FfmpegSettings, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { createInference, InferenceBusy } from '../inference/inference.ts'
import type { Log } from '../log.ts'
import { chooseRecognition } from '../models/engines.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import type { ModelSetName } from '../models/model-set.ts'
import { makeWorkFolder, type WorkSettings } from '../work-folder.ts'
import { answerRecognition } from './answer-recognition.ts'
import { decodeRecording } from './decode-recording.ts'
import { recogniseWithPocketsphinx } from './pocketsphinx.ts'
import {
  planRecognition,
  type ChosenEngine,
  type RecognitionOrder,
  type RecognitionPlan,
} from './recognition-plan.ts'
import type { Recognise, Recognition, RecognitionEvent, Segment } from './recognition-result.ts'
import type { RecognitionChunk, RecognitionTask } from './recognition-task.ts'
import { openSamples } from './samples/samples-file.ts'
import type { SpokenWord } from './whisper/written-words.ts'

export interface RecognitionOptions extends FfmpegSettings, WorkSettings {
  directory: ModelDirectory
  programs: Programs
  log: Log
  /** The models are unloaded after this time without a recording. */
  idleMs?: number
}

export interface Recogniser {
  recognise: Recognise
  /** Returns only the text of a recording. Assumes English if no engine can detect the language. */
  hear: (file: string, model: string, signal: AbortSignal) => Promise<Recognition>
  /** Handles `POST /v1/audio/transcriptions` and `/v1/audio/translations`. */
  handle: (
    request: IncomingMessage,
    response: ServerResponse,
    task: RecognitionOrder['task'],
  ) => Promise<void>
  close: () => Promise<void>
}

/** How many recordings may run or wait. Each has its samples on disk. */
const mostRecordings = 16
const mostRecordingSeconds = 12 * 3600
const defaultIdleMs = 300_000
const recordingName = 'recording'

export function createRecognition(options: RecognitionOptions): Recogniser {
  const { directory, programs, log } = options
  const closing = new AbortController()
  const inference = createInference<RecognitionTask, RecognitionChunk>({
    name: 'recognition',
    program: new URL('recognition-process.ts', import.meta.url),
    mostWaiting: mostRecordings,
    idleMs: options.idleMs ?? defaultIdleMs,
    log,
  })
  const underWay = new Set<Promise<void>>()
  let tool: Promise<FfmpegTool> | undefined

  function toolFound(): Promise<FfmpegTool> {
    tool ??= findFfmpeg(options).catch((error: unknown) => {
      // Search again next time, because the program may be installed in the meantime.
      tool = undefined
      throw error
    })
    return tool
  }

  async function* recognise(
    order: RecognitionOrder,
    signal: AbortSignal,
  ): AsyncGenerator<RecognitionEvent, Recognition, undefined> {
    const plan = planRecognition(order, directory, programs)
    if (underWay.size >= mostRecordings) throw new InferenceBusy('Too many recordings are being recognised.')
    const stopped = AbortSignal.any([signal, closing.signal])
    const { promise: done, resolve: finish } = Promise.withResolvers<void>()
    underWay.add(done)
    let folder: string | undefined
    try {
      folder = await makeWorkFolder(options, 'recognition')
      const ffmpeg = await toolFound()
      const recording = path.join(folder, recordingName)
      // ffmpeg sees only this folder. A hard link avoids a copy of a large file.
      await link(order.path, recording).catch(() => copyFile(order.path, recording))
      const samplesPath = await decodeRecording({
        tool: ffmpeg,
        folder,
        recordingName,
        mostSeconds: mostRecordingSeconds,
        signal: stopped,
      })
      await rm(recording)
      return yield* listen(order, plan, samplesPath, ffmpeg, stopped)
    } finally {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
      underWay.delete(done)
      finish()
    }
  }

  async function* listen(
    order: RecognitionOrder,
    plan: RecognitionPlan,
    samplesPath: string,
    ffmpeg: FfmpegTool,
    signal: AbortSignal,
  ): AsyncGenerator<RecognitionEvent, Recognition, undefined> {
    const begun = performance.now()
    const durationSeconds = await secondsOf(samplesPath)
    const recognized = {
      text: '',
      language: order.language,
      segments: [] as Segment[],
      words: [] as SpokenWord[],
    }
    let translatedCount = 0
    let untranslatedCount = 0
    let chosen: ChosenEngine | undefined
    for await (const chunk of chunksOf(order, plan, samplesPath, ffmpeg, signal)) {
      if (chunk.type === 'begun') {
        chosen = plan[chunk.engine]!
        yield { type: 'begun', ...chosen }
        continue
      }
      recognized.language ??= chunk.language
      for (const segment of chunk.segments)
        recognized.segments.push({ id: recognized.segments.length, ...segment })
      recognized.words.push(...chunk.words)
      const text = recognized.text === '' ? chunk.text.trimStart() : chunk.text
      recognized.text += text
      if (chunk.isUntranslated) untranslatedCount++
      else if (text !== '') translatedCount++
      if (text !== '') yield { type: 'spoken', text }
    }
    if (chosen === undefined) throw new Error('No engine has started.')
    log('local.recognised', {
      engine: chosen.engine,
      task: order.task,
      seconds: Math.round(durationSeconds),
      wallMs: Math.round(performance.now() - begun),
    })
    return {
      ...chosen,
      text: recognized.text.trimEnd(),
      language: recognized.language,
      durationSeconds,
      segments: order.wantsSegments ? recognized.segments : undefined,
      words: order.wantsWords ? recognized.words : undefined,
      translation: untranslatedCount === 0 ? undefined : translatedCount === 0 ? 'none' : 'partial',
    }
  }

  async function* chunksOf(
    order: RecognitionOrder,
    plan: RecognitionPlan,
    samplesPath: string,
    ffmpeg: FfmpegTool,
    signal: AbortSignal,
  ): AsyncGenerator<RecognitionChunk | PocketsphinxChunk> {
    const { pocketsphinxPath } = programs
    if (plan.pocketsphinx !== undefined && pocketsphinxPath !== undefined) {
      yield { type: 'begun', engine: 'pocketsphinx' }
      for await (const text of recogniseWithPocketsphinx(pocketsphinxPath, ffmpeg, samplesPath, signal)) {
        yield { type: 'spoken', text, language: undefined, segments: [], words: [], isUntranslated: false }
      }
      return
    }
    const set = (name: ModelSetName) => directory.find(name) ?? path.join(directory.path, name)
    const task: RecognitionTask = {
      runtime: set('onnxruntime'),
      detector: set('silero-vad'),
      whisper: plan.whisper === undefined ? undefined : set(plan.whisper.engine as ModelSetName),
      moonshine: plan.moonshine === undefined ? undefined : set('moonshine-tiny'),
      samplesPath,
      task: order.task,
      language: order.language,
      prompt: order.prompt,
      temperature: order.temperature,
      wantsWords: order.wantsWords,
    }
    yield* inference.run(task, signal)
  }

  return {
    recognise,
    async hear(file, model, signal) {
      const need = { language: undefined, task: 'transcribe', needsTimes: false } as const
      const isDetected = 'engine' in chooseRecognition(model, need, directory, programs)
      const order = { path: file, model, task: 'transcribe', temperature: 0 } as const
      const language = isDetected ? undefined : 'en'
      return await last(recognise({ ...order, language, wantsSegments: false, wantsWords: false }, signal))
    },
    handle: (request, response, task) =>
      answerRecognition({ ...options, recognise }, request, response, task),
    async close() {
      closing.abort()
      await inference.close()
      await Promise.all(underWay)
    },
  }
}

interface PocketsphinxChunk {
  type: 'begun'
  engine: 'pocketsphinx'
}

async function last(events: AsyncGenerator<RecognitionEvent, Recognition, undefined>): Promise<Recognition> {
  for (;;) {
    const next = await events.next()
    if (next.done === true) return next.value
  }
}

async function secondsOf(samplesPath: string): Promise<number> {
  const samples = await openSamples(samplesPath)
  await samples.close()
  return samples.seconds
}
