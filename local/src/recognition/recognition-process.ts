import { loadOnnx, type Onnx } from '../inference/onnx.ts'
import { serveInference } from '../inference/serve-inference.ts'
import { openMoonshine, type Moonshine } from './moonshine.ts'
import { recogniseWithMoonshine } from './recognise-moonshine.ts'
import { recogniseWithWhisper } from './recognise-whisper.ts'
import type { RecognitionChunk, RecognitionTask } from './recognition-task.ts'
import { windowSeconds } from './samples/mel.ts'
import { openSamples, type SamplesFile } from './samples/samples-file.ts'
import { nextWindow } from './samples/sound-window.ts'
import { openDetector, type Detector } from './samples/speech-gate.ts'
import { detectLanguage } from './whisper/whisper-decode.ts'
import { openWhisper, type Whisper } from './whisper/whisper-model.ts'

/** Caches one model of a kind: the one that was used last. */
function createHolder<Model extends { release: () => Promise<void> }>(
  open: (onnx: Onnx, folder: string) => Promise<Model>,
): (onnx: Onnx, folder: string) => Promise<Model> {
  let held: { folder: string; model: Model } | undefined
  return async (onnx, folder) => {
    if (held?.folder === folder) return held.model
    const before = held
    held = undefined
    await before?.model.release()
    const model = await open(onnx, folder)
    held = { folder, model }
    return model
  }
}

const whisperFrom = createHolder<Whisper>(openWhisper)
const moonshineFrom = createHolder<Moonshine>(openMoonshine)
const detectorFrom = createHolder<Detector>(openDetector)

serveInference<RecognitionTask, RecognitionChunk>(async function* recognise(task, signal) {
  const onnx = loadOnnx(task.runtime)
  const detector = await detectorFrom(onnx, task.detector)
  const samples = await openSamples(task.samplesPath)
  try {
    const whisper = task.whisper === undefined ? undefined : await whisperFrom(onnx, task.whisper)
    let { language } = task
    if (whisper !== undefined && task.moonshine !== undefined) {
      language ??= await firstLanguage(whisper, samples, detector, signal)
    }
    if (
      task.moonshine !== undefined &&
      (whisper === undefined || language === undefined || language === 'en')
    ) {
      const moonshine = await moonshineFrom(onnx, task.moonshine)
      yield { type: 'begun', engine: 'moonshine' }
      for await (const text of recogniseWithMoonshine(moonshine, samples, detector.follow(samples), signal)) {
        yield { type: 'spoken', text, language: 'en', segments: [], words: [], isUntranslated: false }
      }
    } else if (whisper !== undefined) {
      yield { type: 'begun', engine: 'whisper' }
      const order = { ...task, language }
      for await (const result of recogniseWithWhisper(
        whisper,
        samples,
        detector.follow(samples),
        order,
        signal,
      )) {
        const text = result.segments.map((segment) => segment.text).join('')
        yield { type: 'spoken', text, ...result }
      }
    }
  } finally {
    await samples.close()
  }
})

/** The language of the first speech, or undefined for silence. */
async function firstLanguage(
  whisper: Whisper,
  samples: SamplesFile,
  detector: Detector,
  signal: AbortSignal,
): Promise<string | undefined> {
  const gate = detector.follow(samples)
  let position = 0
  while (position < samples.seconds) {
    const { start, end, speech } = await nextWindow(gate, position, samples.seconds, windowSeconds, signal)
    if (speech.length > 0) {
      const sound = await samples.readSeconds(start, end)
      return (await detectLanguage(whisper, await whisper.encode(sound))).language
    }
    position = end
  }
  return undefined
}
