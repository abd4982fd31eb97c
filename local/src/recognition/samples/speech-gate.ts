import path from 'node:path'

import type { Onnx, Tensor } from '../../inference/onnx.ts'
import { samplesPerSecond } from './mel.ts'
import type { SamplesFile } from './samples-file.ts'

/** An interval of speech, in seconds. */
export interface Region {
  start: number
  end: number
}

/** Detects speech in a recording, up to a requested position. */
export interface SpeechGate {
  /** Processes the recording up to this second. Regions at the end may grow later. */
  listen: (untilSeconds: number, signal: AbortSignal) => Promise<void>
  /** Sorted and not adjacent. */
  regions: readonly Region[]
}

export interface Detector {
  follow: (samples: SamplesFile) => SpeechGate
  release: () => Promise<void>
}

const frame = 512
/** The model receives each frame together with the end of the previous one. */
const context = 64
const stateSize = 2 * 128
const blockFrames = 512

const frameSeconds = frame / samplesPerSecond
const startProbability = 0.5
const goOnProbability = 0.35
/** Shorter pauses are part of the speech around them. */
const pauseSeconds = 0.3
/** Shorter sounds are clicks. */
const leastSeconds = 0.1

/** `folder` is the model set `silero-vad`. */
export async function openDetector(onnx: Onnx, folder: string): Promise<Detector> {
  const session = await onnx.open(path.join(folder, 'model.onnx'))
  const rate = onnx.integers([samplesPerSecond], [])

  function follow(samples: SamplesFile): SpeechGate {
    const regions: Region[] = []
    const input = new Float32Array(context + frame)
    let state: Tensor = onnx.floats(new Float32Array(stateSize), [2, 1, 128])
    let place = 0
    let begun: number | undefined
    let lastSpeech = 0

    async function probabilityOf(sound: Float32Array): Promise<number> {
      input.copyWithin(0, frame)
      input.fill(0, context)
      input.set(sound, context)
      const feeds = { input: onnx.floats(input, [1, input.length]), state, sr: rate }
      const results = await session.run(feeds, ['output', 'stateN'])
      state = results['stateN']!
      return results['output']!.data[0]!
    }

    function end(): void {
      if (begun !== undefined && lastSpeech - begun >= leastSeconds) add({ start: begun, end: lastSpeech })
      begun = undefined
    }

    /** The list includes the current region, which may still grow. */
    function add(region: Region): void {
      if (regions.at(-1)?.start === region.start) regions[regions.length - 1] = region
      else regions.push(region)
    }

    async function listen(untilSeconds: number, signal: AbortSignal): Promise<void> {
      const until = Math.min(samples.sampleCount, untilSeconds * samplesPerSecond)
      while (place < until) {
        const block = await samples.read(place, place + blockFrames * frame)
        for (let offset = 0; offset < block.length && place < until; offset += frame) {
          signal.throwIfAborted()
          const probability = await probabilityOf(block.subarray(offset, offset + frame))
          const time = place / samplesPerSecond
          if (probability >= (begun === undefined ? startProbability : goOnProbability)) {
            begun ??= time
            lastSpeech = Math.min(time + frameSeconds, samples.seconds)
          } else if (begun !== undefined && time - lastSpeech >= pauseSeconds) end()
          place += frame
        }
      }
      if (place >= samples.sampleCount) end()
      else if (begun !== undefined && lastSpeech - begun >= leastSeconds)
        add({ start: begun, end: lastSpeech })
    }

    return { regions, listen }
  }

  return { follow, release: () => session.release() }
}
