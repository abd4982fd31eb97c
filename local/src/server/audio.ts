/** The audio endpoints of the provider: speech, recognition, dialogue, and the list of engines. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { createDialogue } from '../dialogue/dialogue.ts'
import { findPrograms, type Programs } from '../ffmpeg/programs.ts'
import type { FfmpegSettings } from '../ffmpeg/sandbox.ts'
import type { Log } from '../log.ts'
import { describeEngines } from '../models/engines.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { createRecognition } from '../recognition/recognition.ts'
import { createSpeech } from '../speech/speech.ts'
import type { WorkSettings } from '../work-folder.ts'

export interface AudioOptions extends FfmpegSettings, WorkSettings {
  directory: ModelDirectory
  log: Log
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export interface Audio {
  /** The handler of this path, or undefined if it is not an audio path. */
  find: (path: string) => Handle | undefined
  engines: () => Promise<Record<string, unknown>>
  close: () => Promise<void>
}

/** The recognition model for spoken turns of a dialogue. */
const dialogueRecognitionModel = 'asr-1'

export function createAudio(options: AudioOptions, programs: Programs): Audio {
  const { directory } = options
  const speech = createSpeech({ ...options, espeakPath: programs.espeakPath })
  const recognition = createRecognition({ ...options, programs })
  const dialogue = createDialogue({
    ...options,
    speak: (order, signal) => speech.speak({ ...order, speed: 1 }, signal),
    recognise: (path, signal) => recognition.hear(path, dialogueRecognitionModel, signal),
  })
  const handlers: Record<string, Handle> = {
    '/v1/audio/speech': speech.handle,
    '/v1/audio/transcriptions': (request, response) => recognition.handle(request, response, 'transcribe'),
    '/v1/audio/translations': (request, response) => recognition.handle(request, response, 'translate'),
    '/v1/chat/completions': dialogue.handle,
  }
  return {
    find: (path) => handlers[path],
    // Searched on each call, because a program may be installed while the server runs.
    engines: async () => describeEngines(directory, await findPrograms()),
    close: async () => {
      await Promise.all([speech.close(), recognition.close(), dialogue.close()])
    },
  }
}
