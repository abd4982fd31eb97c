import type { Programs } from '../ffmpeg/programs.ts'
/** Which engine answers which audio model: the first of its row that is there. */
import type { ModelDirectory } from './model-directory.ts'
import { modelSet, withNeeds, type ModelSetName } from './model-set.ts'

export type SpeechEngine = 'kokoro' | 'kokoro-small' | 'espeak-ng'
export type RecognitionEngine =
  | 'whisper-small'
  | 'whisper-base'
  | 'whisper-tiny'
  | 'moonshine-tiny'
  | 'pocketsphinx'
export type ChatEngine = 'tinyllama' | 'echo'
type EngineName = SpeechEngine | RecognitionEngine | ChatEngine

/** The engine that answers and the best one for this; or the command that would make one answer. */
export type Choice<Name> = { engine: Name; wanted: Name } | { missing: string }

export interface RecognitionNeed {
  /** An ISO 639-1 code; undefined where nobody knows yet. */
  language: string | undefined
  task: 'transcribe' | 'translate'
  needsTimes: boolean
}

export interface EngineAccount {
  /** `none` where the model cannot answer at all. */
  engine: EngineName | 'none'
  wanted: EngineName
  quality: string
  /** The command to run when a better engine is missing. */
  pull?: string
}

interface Engine {
  /** The engine's own set, which brings along what it needs. */
  set?: ModelSetName
  program?: keyof Programs
  quality?: string
}

// Kokoro is told by espeak-ng how words sound.
const engines: Record<EngineName, Engine> = {
  kokoro: { set: 'kokoro', program: 'espeakPath' },
  'kokoro-small': { set: 'kokoro-small', program: 'espeakPath' },
  'espeak-ng': { program: 'espeakPath', quality: 'Robotic but clear.' },
  'whisper-small': { set: 'whisper-small' },
  'whisper-base': { set: 'whisper-base' },
  'whisper-tiny': { set: 'whisper-tiny' },
  'moonshine-tiny': { set: 'moonshine-tiny' },
  pocketsphinx: {
    program: 'pocketsphinxPath',
    quality:
      'English without punctuation or times: 13 to 18 % wrong words on clean synthetic speech, useless on robotic voices.',
  },
  tinyllama: { set: 'tinyllama' },
  echo: { quality: 'No model: openly repeats what it heard.' },
}

const packageOf: Record<keyof Programs, string> = {
  espeakPath: 'espeak-ng',
  pocketsphinxPath: 'pocketsphinx pocketsphinx-en-us',
}

const speechEngines: SpeechEngine[] = ['kokoro', 'kokoro-small', 'espeak-ng']
const speechModels = ['chat-4o-mini-tts-2025-12-15', 'ttsB-3.1-flash-tts-preview']
const chatEngines: ChatEngine[] = ['tinyllama', 'echo']
const chatModel = 'chat-4o-audio-preview'

const accurate: RecognitionEngine[] = ['whisper-small', 'whisper-base', 'whisper-tiny', 'pocketsphinx']
const quick: RecognitionEngine[] = ['moonshine-tiny', 'whisper-base', 'whisper-tiny', 'pocketsphinx']
const recognitionEngines: Record<string, RecognitionEngine[]> = {
  'asr-1': accurate,
  'asr-large-v3': accurate,
  'asr-large-v3-turbo': quick,
  'chat-4o-mini-transcribe': quick,
  'chat-4o-transcribe': accurate,
}

const isThere = (name: EngineName, directory: ModelDirectory, programs: Programs): boolean => {
  const { set, program } = engines[name]
  return (
    (program === undefined || programs[program] !== undefined) &&
    (set === undefined || withNeeds([set]).every((each) => directory.find(each) !== undefined))
  )
}

const firstThere = <Name extends EngineName>(
  row: Name[],
  directory: ModelDirectory,
  programs: Programs,
  missing: string,
): Choice<Name> => {
  const engine = row.find((name) => isThere(name, directory, programs))
  return engine === undefined || row[0] === undefined ? { missing } : { engine, wanted: row[0] }
}

const installation = (program: keyof Programs) => `apt-get install ${packageOf[program]}`

export function chooseSpeech(directory: ModelDirectory, programs: Programs): Choice<SpeechEngine> {
  return firstThere(speechEngines, directory, programs, installation('espeakPath'))
}

const canDo = (engine: RecognitionEngine, { language, task, needsTimes }: RecognitionNeed): boolean => {
  if (engine !== 'moonshine-tiny' && engine !== 'pocketsphinx') return true
  // These know English alone and cannot tell whether it is English, so somebody else must have said so.
  return task === 'transcribe' && !needsTimes && language === 'en'
}

const rowFor = (model: string, need: RecognitionNeed): RecognitionEngine[] => {
  const row = recognitionEngines[model] ?? accurate
  return row.filter((each) => canDo(each, need))
}

export function chooseRecognition(
  model: string,
  need: RecognitionNeed,
  directory: ModelDirectory,
  programs: Programs,
): Choice<RecognitionEngine> {
  return firstThere(rowFor(model, need), directory, programs, 'kinora models pull recognition')
}

export function chooseChat(directory: ModelDirectory, programs: Programs): Choice<ChatEngine> {
  return firstThere(chatEngines, directory, programs, 'kinora models pull chat')
}

const qualityOf = (name: EngineName): string => {
  const { set, quality } = engines[name]
  return quality ?? (set === undefined ? '' : modelSet(set).quality)
}

/** The command after which these engines are there. */
const remedyFor = (names: EngineName[], programs: Programs): string => {
  const lacking = new Set(
    names.flatMap((name) => {
      const { program } = engines[name]
      return program === undefined || programs[program] !== undefined ? [] : program
    }),
  )
  const sets = [...new Set(names.flatMap((name) => engines[name].set ?? []))]
  return [
    ...[...lacking].map(installation),
    ...(sets.length === 0 ? [] : [`kinora models pull ${sets.join(' ')}`]),
  ].join(' && ')
}

const account = (row: EngineName[], directory: ModelDirectory, programs: Programs): EngineAccount => {
  const wanted = row[0]!
  const choice = firstThere(row, directory, programs, '')
  const engine = 'missing' in choice ? 'none' : choice.engine
  return {
    engine,
    wanted,
    quality: engine === 'none' ? 'Does not answer.' : qualityOf(engine),
    ...(engine !== wanted && { pull: remedyFor([wanted], programs) }),
  }
}

/** How a model hears plain English, and where that differs, how it hears everything else. */
const recognitionAccount = (model: string, directory: ModelDirectory, programs: Programs): EngineAccount => {
  const english = { language: 'en', task: 'transcribe', needsTimes: false } as const
  const plain = account(rowFor(model, english), directory, programs)
  const other = account(rowFor(model, { ...english, needsTimes: true }), directory, programs)
  if (plain.engine === 'none' || other.engine === plain.engine) return plain
  const rest =
    other.engine === 'none'
      ? 'Other languages, times and translation: not at all.'
      : `Other languages and times: ${other.engine}.`
  const lacking = [plain, other].flatMap(({ pull, wanted }) => (pull === undefined ? [] : wanted))
  return {
    ...plain,
    quality: `${plain.quality} ${rest}`,
    ...(lacking.length > 0 && { pull: remedyFor(lacking, programs) }),
  }
}

/** Which engine answers each audio model right now, and how good it is. */
export function describeEngines(
  directory: ModelDirectory,
  programs: Programs,
): Record<string, EngineAccount> {
  const speech = account(speechEngines, directory, programs)
  const chat = account(chatEngines, directory, programs)
  return {
    ...Object.fromEntries(
      Object.keys(recognitionEngines).map((model) => [model, recognitionAccount(model, directory, programs)]),
    ),
    ...Object.fromEntries(speechModels.map((model) => [model, speech])),
    [chatModel]: chat,
  }
}
