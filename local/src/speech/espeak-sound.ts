import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import type { Sound } from './encode-speech.ts'
import { espeakEnd, startEspeak, type EspeakTool } from './espeak.ts'
import type { Voice } from './voices.ts'

/** The sample rate of espeak-ng's voices, and the size of the WAV header before the samples. */
const samplesPerSecond = 22_050
const headerBytes = 44

/** One process speaks the whole text, because espeak-ng streams its output and waits for its reader. */
export function espeakSound(tool: EspeakTool, text: string, { espeak }: Voice, language: string): Sound {
  async function* samples(signal: AbortSignal): AsyncGenerator<Buffer> {
    const child = startEspeak(
      tool,
      [
        ...['--stdout', '-b', '1', '-v', `${language}+${espeak.variant}`],
        ...['-p', String(espeak.pitch), '-s', String(espeak.wordsPerMinute), '-a', String(espeak.amplitude)],
      ],
      text,
    )
    const ending = espeakEnd(child)
    const kill = () => killSandboxed(child)
    signal.addEventListener('abort', kill)
    if (signal.aborted) kill()
    try {
      let header = headerBytes
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        if (chunk.length > header) yield chunk.subarray(header)
        header = Math.max(0, header - chunk.length)
      }
      const outcome = await ending
      signal.throwIfAborted()
      if (outcome !== 'exit 0') throw new Error(`espeak-ng ended with ${outcome}`)
    } finally {
      signal.removeEventListener('abort', kill)
      kill()
      await ending
    }
  }

  return { samplesPerSecond, samples }
}
