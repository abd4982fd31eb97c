import { speechFormats } from './encode-speech.ts'
import { voices } from './voices.ts'

export interface SpeechOrder {
  input: string
  voice: string
  /** A name of `speechFormats`. */
  format: string
  /** 0.25 to 4. */
  speed: number
}

export class InvalidSpeech extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'InvalidSpeech'
    this.code = code
  }
}

const longestInput = 32_000
const slowest = 0.25
const fastest = 4

/** Reads the body of a request. The local engines ignore its model and instructions. */
export function parseSpeechOrder(text: string): SpeechOrder {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('The body is not valid JSON.')
  }
  if (typeof value !== 'object' || value === null) throw invalid('The body must be a JSON object.')
  const fields = new Map<string, unknown>(Object.entries(value))
  const input = fields.get('input')
  if (typeof input !== 'string' || input === '' || input.length > longestInput) {
    throw invalid(`"input" must be a string of 1 to ${longestInput} characters.`)
  }
  const voice = fields.get('voice')
  if (typeof voice !== 'string') throw invalid('"voice" must be a string.')
  const order: SpeechOrder = {
    input,
    voice,
    format: (fields.get('response_format') ?? 'mp3') as string,
    speed: (fields.get('speed') ?? 1) as number,
  }
  checkSpeechOrder(order)
  return order
}

export function checkSpeechOrder({ voice, format, speed }: SpeechOrder): void {
  if (!voices.has(voice)) {
    throw new InvalidSpeech('voice_not_supported', `"voice" must be one of ${[...voices.keys()].join(', ')}.`)
  }
  if (!speechFormats.has(format)) {
    throw invalid(`"response_format" must be one of ${[...speechFormats.keys()].join(', ')}.`)
  }
  if (typeof speed !== 'number' || !(speed >= slowest && speed <= fastest)) {
    throw invalid(`"speed" must be a number from ${slowest} to ${fastest}.`)
  }
}

function invalid(message: string): InvalidSpeech {
  return new InvalidSpeech('invalid_request', message)
}
