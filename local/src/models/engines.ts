/** The engines of each audio model, best first. A model uses the first engine that is present. */
import type { Programs } from '../ffmpeg/programs.ts'
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

/** The chosen engine and the best possible one, or the command that installs a missing engine. */
export type Choice<Name> = { engine: Name; wanted: Name } | { missing: string }

export interface RecognitionRequirements {
  /** An ISO 639-1 code, or undefined if the language is not known yet. */
  language: string | undefined
  task: 'transcribe' | 'translate'
  needsTimes: boolean
}

export interface EngineStatus {
  /** `none` if the model has no engine. */
  engine: EngineName | 'none'
  wanted: EngineName
  quality: string
  /** The command that installs a better engine. Absent if the best one is present. */
  pull?: string
}

interface Engine {
  /** The model set of the engine. Pulling it also pulls its dependencies. */
  set?: ModelSetName
  program?: keyof Programs
  quality?: string
}

// espeak-ng produces the phonemes for Kokoro.
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
      'English without punctuation or timestamps: 13 to 18 % wrong words on clean synthetic speech, useless on robotic voices.',
  },
  tinyllama: { set: 'tinyllama' },
  echo: { quality: 'No model: repeats the input and says so.' },
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

const canDo = (
  engine: RecognitionEngine,
  { language, task, needsTimes }: RecognitionRequirements,
): boolean => {
  if (engine !== 'moonshine-tiny' && engine !== 'pocketsphinx') return true
  // These engines recognize only English and cannot detect the language, so it must be known.
  return task === 'transcribe' && !needsTimes && language === 'en'
}

const rowFor = (model: string, requirements: RecognitionRequirements): RecognitionEngine[] => {
  const row = recognitionEngines[model] ?? accurate
  return row.filter((each) => canDo(each, requirements))
}

export function chooseRecognition(
  model: string,
  requirements: RecognitionRequirements,
  directory: ModelDirectory,
  programs: Programs,
): Choice<RecognitionEngine> {
  return firstThere(rowFor(model, requirements), directory, programs, 'kinora models pull recognition')
}

export function chooseChat(directory: ModelDirectory, programs: Programs): Choice<ChatEngine> {
  return firstThere(chatEngines, directory, programs, 'kinora models pull chat')
}

const qualityOf = (name: EngineName): string => {
  const { set, quality } = engines[name]
  return quality ?? (set === undefined ? '' : modelSet(set).quality)
}

/** The command that installs these engines. */
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

const statusOf = (row: EngineName[], directory: ModelDirectory, programs: Programs): EngineStatus => {
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

/** The status for plain English, extended by what another engine serves: other languages, timestamps and translation. */
const recognitionStatusOf = (model: string, directory: ModelDirectory, programs: Programs): EngineStatus => {
  const english = { language: 'en', task: 'transcribe', needsTimes: false } as const
  const plain = statusOf(rowFor(model, english), directory, programs)
  const other = statusOf(rowFor(model, { ...english, needsTimes: true }), directory, programs)
  if (plain.engine === 'none' || other.engine === plain.engine) return plain
  const rest =
    other.engine === 'none'
      ? 'Other languages, timestamps and translation: not available.'
      : `Other languages, timestamps and translation: ${other.engine}. ${other.quality}`
  const lacking = [plain, other].flatMap(({ pull, wanted }) => (pull === undefined ? [] : wanted))
  return {
    ...plain,
    quality: `${plain.quality} ${rest}`,
    ...(lacking.length > 0 && { pull: remedyFor(lacking, programs) }),
  }
}

/** The engine that each audio model uses now, with its quality. */
export function describeEngines(directory: ModelDirectory, programs: Programs): Record<string, EngineStatus> {
  const speech = statusOf(speechEngines, directory, programs)
  const chat = statusOf(chatEngines, directory, programs)
  return {
    ...Object.fromEntries(
      Object.keys(recognitionEngines).map((model) => [
        model,
        recognitionStatusOf(model, directory, programs),
      ]),
    ),
    ...Object.fromEntries(speechModels.map((model) => [model, speech])),
    [chatModel]: chat,
  }
}
