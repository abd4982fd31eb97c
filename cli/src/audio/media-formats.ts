/** The choices of the contract, written here again because its schemas take longer to load than the help may. */
import type { SpeechFormat, TranscriptFormat } from '@kinora/contract/operations/audio'

const all = <const Name extends string>(names: Record<Name, true>) => Object.keys(names) as Name[]

export const transcriptFormats = all<TranscriptFormat>({
  text: true,
  srt: true,
  vtt: true,
  json: true,
  verbose_json: true,
})

export const speechFormats = all<SpeechFormat>({
  mp3: true,
  opus: true,
  aac: true,
  flac: true,
  wav: true,
  pcm: true,
})
