import type { Programs } from '../ffmpeg/programs.ts'
import { chooseRecognition, type RecognitionEngine } from '../models/engines.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { invalid, RecognitionRefusal } from './recognition-refusal.ts'
import { languageToken } from './whisper/whisper-tokens.ts'

export interface RecognitionOrder {
  /** The recording: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm. */
  path: string
  model: string
  task: 'transcribe' | 'translate'
  /** An ISO 639-1 code, or undefined to detect the language. */
  language?: string | undefined
  /** Sets the context and the spelling. */
  prompt?: string | undefined
  temperature: number
  wantsSegments: boolean
  wantsWords: boolean
}

export interface ChosenEngine {
  engine: RecognitionEngine
  /** The best engine, which may not be installed. */
  wanted: RecognitionEngine
}

/** The engines that may be used. If both models are present, the spoken language decides. */
export interface RecognitionPlan {
  whisper: ChosenEngine | undefined
  moonshine: ChosenEngine | undefined
  pocketsphinx: ChosenEngine | undefined
}

export function planRecognition(
  order: Omit<RecognitionOrder, 'path'>,
  directory: ModelDirectory,
  programs: Programs,
): RecognitionPlan {
  const { model, task, language } = order
  if (language !== undefined && languageToken(language) === undefined) {
    throw invalid(`The language "${language}" is not supported.`)
  }
  if (order.wantsWords && task === 'translate')
    throw invalid('Word timestamps are only available for transcriptions.')
  const requirements = { language, task, needsTimes: order.wantsSegments || order.wantsWords }
  const choice = chooseRecognition(model, requirements, directory, programs)
  const inEnglish =
    language === undefined
      ? chooseRecognition(model, { ...requirements, language: 'en' }, directory, programs)
      : choice
  const isWhisper = 'engine' in choice && choice.engine.startsWith('whisper')
  const isMoonshine = 'engine' in inEnglish && inEnglish.engine === 'moonshine-tiny'
  if ('missing' in choice) {
    const lacking =
      language === undefined && 'engine' in inEnglish
        ? 'The language cannot be detected without a Whisper model. Send language=en for English, or pull one with'
        : 'This request needs a model that is not installed. Pull it with'
    throw new RecognitionRefusal(503, 'weights_missing', `${lacking}: ${choice.missing}`)
  }
  return {
    whisper: isWhisper ? choice : undefined,
    moonshine: isMoonshine ? inEnglish : undefined,
    pocketsphinx: isWhisper || isMoonshine ? undefined : choice,
  }
}
