import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import type { Sound } from './encode-speech.ts'
import { espeakEnd, startEspeak, type EspeakTool } from './espeak.ts'
import type { Voice } from './voices.ts'

/** What espeak-ng's own voices are made with, and the size of the WAV header before the samples. */
const samplesPerSecond = 22_050
const headerBytes = 44

/** espeak-ng writes while it speaks and waits for its reader, so one process says the whole text. */
export function espeakSound(tool: EspeakTool, text: string, { espeak }: Voice, language: string): Sound {
  async function* samples(signal: AbortSignal): AsyncGenerator<Buffer> {
    const child = startEspeak(
      tool,
      [
        ...['--stdout', '-b', '1', '-v', `${language}+${espeak.variant}`],
        ...['-p', String(espeak.pitch), '-s', String(espeak.pace), '-a', String(espeak.amplitude)],
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
