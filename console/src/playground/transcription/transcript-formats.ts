/** The formats of a transcript, as the service writes them. */
import type { Transcription } from '@kinora/client'

export const textFormats = ['text', 'srt', 'vtt', 'json', 'verbose_json'] as const
export type TextFormat = (typeof textFormats)[number]

export const fileEndings: Record<TextFormat, string> = {
  text: 'txt',
  srt: 'srt',
  vtt: 'vtt',
  json: 'json',
  verbose_json: 'verbose.json',
}

const stamp = (seconds: number, mark: string): string => {
  const ms = Math.round(seconds * 1_000)
  const pad = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, '0')
  return `${pad(ms / 3_600_000)}:${pad((ms / 60_000) % 60)}:${pad((ms / 1_000) % 60)}${mark}${pad(ms % 1_000, 3)}`
}

const writeCues = ({ segments = [] }: Transcription, mark: string, isNumbered: boolean) =>
  segments
    .map(({ start, end, text }, index) =>
      [...(isNumbered ? [index + 1] : []), `${stamp(start, mark)} --> ${stamp(end, mark)}`, text.trim()].join(
        '\n',
      ),
    )
    .join('\n\n')

/** Undefined if the transcript has no timestamps. */
export const writeTranscript = (result: Transcription, format: TextFormat): string | undefined => {
  if (format === 'text') return result.text
  if (format === 'json') return JSON.stringify({ text: result.text }, null, 2)
  if (format === 'verbose_json') return JSON.stringify(result, null, 2)
  if ((result.segments?.length ?? 0) === 0) return undefined
  return format === 'srt'
    ? `${writeCues(result, ',', true)}\n`
    : `WEBVTT\n\n${writeCues(result, '.', false)}\n`
}

/** How sure the model is of a segment, from 0 to 1. */
export const readConfidence = (segment: { avg_logprob: number; no_speech_prob: number }): number =>
  Math.exp(Math.min(0, segment.avg_logprob)) * (1 - segment.no_speech_prob)

/** Segments below this are tinted. */
export const sureFrom = 0.6
