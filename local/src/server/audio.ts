/** Everything about sound that the provider answers: speech, recognition, dialogue, and which engine does it. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { createDialogue } from '../dialogue/dialogue.ts'
import { findPrograms, type Programs } from '../ffmpeg/programs.ts'
import type { Log } from '../log.ts'
import { describeEngines } from '../models/engines.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { createRecognition } from '../recognition/recognition.ts'
import { createSpeech } from '../speech/speech.ts'

export interface AudioOptions {
  directory: ModelDirectory
  ffmpegPath: string
  log: Log
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export interface Audio {
  /** What answers this path, or undefined where it is not about sound. */
  find: (path: string) => Handle | undefined
  engines: () => Promise<Record<string, unknown>>
  close: () => Promise<void>
}

/** What a conversation is heard with: the model that the callers of small questions get. */
const hearingModel = 'asr-1'

export function createAudio(options: AudioOptions, programs: Programs): Audio {
  const { directory } = options
  const speech = createSpeech({ ...options, espeakPath: programs.espeakPath })
  const recognition = createRecognition({ ...options, programs })
  const dialogue = createDialogue({
    ...options,
    speak: (order, signal) => speech.speak({ ...order, speed: 1 }, signal),
    recognise: (path, signal) => recognition.hear(path, hearingModel, signal),
  })
  const handlers: Record<string, Handle> = {
    '/v1/audio/speech': speech.handle,
    '/v1/audio/transcriptions': (request, response) => recognition.handle(request, response, 'transcribe'),
    '/v1/audio/translations': (request, response) => recognition.handle(request, response, 'translate'),
    '/v1/chat/completions': dialogue.handle,
  }
  return {
    find: (path) => handlers[path],
    // Looked for anew, because a program may be installed while this runs.
    engines: async () => describeEngines(directory, await findPrograms()),
    close: async () => {
      await Promise.all([speech.close(), recognition.close(), dialogue.close()])
    },
  }
}
