import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

import type { Recogniser } from '../../src/recognition/recognition.ts'

const run = promisify(execFile)
const timeout = 30_000

/** Speaks a text into a WAV file, with a voice that all engines recognize. */
export async function say(
  file: string,
  text: string,
  voice = 'en-us+m3',
  wordsPerMinute = 150,
): Promise<void> {
  await run('espeak-ng', ['-v', voice, '-s', String(wordsPerMinute), '-w', file, text], { timeout })
}

/** Runs ffmpeg over files in a folder. */
export async function ffmpeg(folder: string, ...args: string[]): Promise<void> {
  await run('ffmpeg', ['-v', 'error', '-y', ...args], { cwd: folder, timeout })
}

/** Samples in the format of a file of decoded sound. */
export function toSamples(sound: Float32Array): Buffer {
  return Buffer.from(Int16Array.from(sound, (value) => Math.round(value * 32_767)).buffer)
}

export interface RecognitionClient {
  /** Sends a recording with form fields. A field may occur several times. */
  post: (
    task: 'transcribe' | 'translate',
    recording: Buffer,
    fields: [name: string, value: string][],
    signal?: AbortSignal,
  ) => Promise<Response>
  close: () => Promise<void>
}

/** Serves a recogniser on its own port. */
export async function serveRecognition(recogniser: Recogniser): Promise<RecognitionClient> {
  const server = createServer((request, response) => {
    const task = request.url === '/translations' ? 'translate' : 'transcribe'
    void recogniser.handle(request, response, task)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    async post(task, recording, fields, signal) {
      const form = new FormData()
      for (const [name, value] of fields) form.append(name, value)
      form.append('file', new Blob([new Uint8Array(recording)]), 'recording.bin')
      const target = task === 'translate' ? `${url}/translations` : `${url}/transcriptions`
      return await fetch(target, { method: 'POST', body: form, ...(signal === undefined ? {} : { signal }) })
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await recogniser.close()
    },
  }
}
