/** Reference images serve as key frames, or as components of one scene. */
type ReferenceMode = 'frames' | 'components'

export interface JobRequest {
  model: string
  prompt: string
  seconds: number
  width: number
  height: number
  watermark: boolean
  style?: string
  seed?: number
  referenceMode?: ReferenceMode
  /** False for a video without a sound track. */
  sound?: boolean
  /** User names, in the order of the images. */
  characters?: string[]
}

/** The uploaded files. A record has their names in its folder, a render task their paths. */
export interface JobFiles {
  /** In upload order. */
  references: string[]
  characters: string[]
  /** The video to remix. */
  source: string | undefined
  /** Audio that the film plays. */
  soundtrack?: string | undefined
}

export interface JobError {
  code: string
  message: string
}

type JobState = 'queued' | 'running' | 'done' | 'failed'

/** The record of a job in its folder. It has no progress, because a render starts over after a crash. */
export interface JobRecord extends JobFiles {
  id: string
  state: JobState
  request: JobRequest
  createdAt: string
  finishedAt?: string
  error?: JobError
  sizeBytes?: number
}

export class InvalidJob extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'InvalidJob'
  }
}

const promptLengthMax = 32_000
const nameLengthMax = 200
export const charactersMax = 4

export function parseJobRequest(text: string): JobRequest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidJob('The field "job" is not valid JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidJob('The field "job" must be a JSON object.')
  }
  const fields = new Map<string, unknown>(Object.entries(value))
  const style = optional(fields, 'style', (name) => textField(fields, name, nameLengthMax))
  const seed = optional(fields, 'seed', (name) => wholeNumber(fields, name, 0, Number.MAX_SAFE_INTEGER))
  const referenceMode = optional(fields, 'referenceMode', () => referenceModeField(fields))
  const sound = optional(fields, 'sound', (name) => booleanField(fields, name))
  const characters = optional(fields, 'characters', () => charactersField(fields))
  return {
    model: textField(fields, 'model', nameLengthMax),
    prompt: textField(fields, 'prompt', promptLengthMax),
    seconds: secondsField(fields),
    width: sideField(fields, 'width'),
    height: sideField(fields, 'height'),
    watermark: booleanField(fields, 'watermark'),
    ...(style === undefined ? {} : { style }),
    ...(seed === undefined ? {} : { seed }),
    ...(referenceMode === undefined ? {} : { referenceMode }),
    ...(sound === undefined ? {} : { sound }),
    ...(characters === undefined ? {} : { characters }),
  }
}

type Fields = Map<string, unknown>

function optional<T>(fields: Fields, name: string, read: (name: string) => T): T | undefined {
  const value = fields.get(name)
  return value === undefined || value === null ? undefined : read(name)
}

function textField(fields: Fields, name: string, lengthMax: number): string {
  const value = fields.get(name)
  if (typeof value !== 'string') throw new InvalidJob(`"${name}" must be a string.`)
  if (value.length > lengthMax) throw new InvalidJob(`"${name}" must have at most ${lengthMax} characters.`)
  return value
}

function referenceModeField(fields: Fields): ReferenceMode {
  const value = fields.get('referenceMode')
  if (value === 'frames' || value === 'components') return value
  throw new InvalidJob('"referenceMode" must be "frames" or "components".')
}

function charactersField(fields: Fields): string[] {
  const value = fields.get('characters')
  const names: unknown[] | undefined = Array.isArray(value) ? value : undefined
  if (names === undefined || names.length > charactersMax) {
    throw new InvalidJob(`"characters" must be a list of at most ${charactersMax} user names.`)
  }
  return names.map((name) => {
    if (typeof name === 'string' && /\S/u.test(name) && name.length <= nameLengthMax) return name
    throw new InvalidJob(`Each name in "characters" must be a string of 1 to ${nameLengthMax} characters.`)
  })
}

function booleanField(fields: Fields, name: string): boolean {
  const value = fields.get(name)
  if (typeof value !== 'boolean') throw new InvalidJob(`"${name}" must be true or false.`)
  return value
}

function wholeNumber(fields: Fields, name: string, min: number, max: number): number {
  const value = fields.get(name)
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    throw new InvalidJob(`"${name}" must be a whole number from ${min} to ${max}.`)
  }
  return value
}

const secondsRange = { min: 1, max: 60 }

function secondsField(fields: Fields): number {
  const { min, max } = secondsRange
  const value = fields.get('seconds')
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max) {
    throw new InvalidJob(`"seconds" must be a number from ${min} to ${max}.`)
  }
  return value
}

function sideField(fields: Fields, name: string): number {
  const value = wholeNumber(fields, name, 64, 4096)
  if (value % 2 !== 0) throw new InvalidJob(`"${name}" must be even.`)
  return value
}
