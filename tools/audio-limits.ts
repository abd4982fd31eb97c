/** What requests with audio may have, for the forms of the console. The schemas themselves would be a large part of its code. */
import {
  audioBytesMax,
  SpeechBody,
  speechCharactersMax,
  speechFormats,
  TranscriptionForm,
} from '../contract/src/operations/audio.ts'
import { transcriptionTaskOperations } from '../contract/src/operations/transcription-tasks.ts'

const rangeOf = ({ minimum, maximum }: { minimum?: number; maximum?: number }) => ({
  min: minimum ?? 0,
  max: maximum ?? 0,
})

const literal = (value: unknown) =>
  JSON.stringify(value)
    .replaceAll('"', "'")
    .replaceAll(/([:,])/g, '$1 ')
    .replaceAll(/'(\w+)':/g, '$1:')

export const audioLimitsFile = (): string => {
  const { speed, instructions } = SpeechBody.properties
  const values = {
    speechCharactersMax,
    speechFormats,
    speechSpeed: rangeOf(speed as { minimum?: number; maximum?: number }),
    instructionsCharactersMax: (instructions as { maxLength?: number }).maxLength,
    transcriptionPromptCharactersMax: (TranscriptionForm.properties.prompt as { maxLength?: number })
      .maxLength,
    recordingBytesMax: audioBytesMax,
    taskRecordingBytesMax: transcriptionTaskOperations.createTranscriptionTask.body.fileBytesMax,
  }
  return [
    '// Generated from the contract by `npm run generate`. Do not edit.',
    ...Object.entries(values).map(([name, value]) => {
      const text = literal(value).replace(/^\{ ?(.*?)\}$/, '{ $1 }')
      return `export const ${name} = ${text}${typeof value === 'object' ? ' as const' : ''}`
    }),
    '',
  ].join('\n')
}
