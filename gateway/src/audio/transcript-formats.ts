/** Writes a transcript in the format that the caller requested. */
import type { Transcription, TranscriptFormat, TranscriptSegment } from '@kinora/contract/operations/audio'

import type { SpeechSegment, Transcript } from '../providers/port/transcription.ts'
import { languageName } from './languages.ts'

export interface WrittenTranscript {
  headers: Record<string, string>
  body: Transcription | string
}

export interface TranscriptView {
  task: 'transcribe' | 'translate'
  format: TranscriptFormat
  /** The measured duration. All timestamps are limited to it. */
  durationSeconds: number
  /** The code from the request, used if the provider does not report a language. */
  language: string | undefined
  wantsWords: boolean
  /** Whether to add the fields that OpenAI client libraries expect. */
  isOpenAi: boolean
}

interface Cue {
  startMs: number
  endMs: number
  text: string
}

/** Rounds half a millisecond up, regardless of its binary representation. */
const milliseconds = (seconds: number) => Math.floor(Number((seconds * 1000).toFixed(6)) + 0.5)

const onOneLine = (text: string) => text.replaceAll(/\s+/gu, ' ').trim()

/**
 * Subtitle cues in order, without overlaps and within the recording. A segment for which no time is left is appended to
 * the previous cue.
 */
export const cuesOf = (segments: SpeechSegment[], durationSeconds: number): Cue[] => {
  const lastMs = Math.max(1, milliseconds(durationSeconds))
  const cues: Cue[] = []
  for (const segment of segments) {
    const text = onOneLine(segment.text)
    if (text === '') continue
    const previous = cues.at(-1)
    const startMs = Math.min(Math.max(milliseconds(segment.start), previous?.endMs ?? 0), lastMs)
    const endMs = Math.min(Math.max(milliseconds(segment.end), startMs), lastMs)
    if (endMs > startMs) cues.push({ startMs, endMs, text })
    else if (previous === undefined) {
      const from = Math.min(startMs, lastMs - 1)
      cues.push({ startMs: from, endMs: from + 1, text })
    } else previous.text = `${previous.text} ${text}`
  }
  return cues
}

const clock = (ms: number, beforeMilliseconds: ',' | '.'): string => {
  const padded = (value: number, digits = 2) => String(value).padStart(digits, '0')
  const seconds = Math.floor(ms / 1000)
  const time = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return time.map((part) => padded(part)).join(':') + beforeMilliseconds + padded(ms % 1000, 3)
}

// A parser would read an arrow in the text as a line of timestamps.
const srtText = (text: string) => text.replaceAll(/-+->/g, '->')
const vttText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const srtOf = (cues: Cue[]): string =>
  cues
    .map(
      ({ startMs, endMs, text }, index) =>
        `${index + 1}\n${clock(startMs, ',')} --> ${clock(endMs, ',')}\n${srtText(text)}\n\n`,
    )
    .join('')

const vttOf = (cues: Cue[]): string =>
  `WEBVTT\n\n${cues
    .map(
      ({ startMs, endMs, text }) => `${clock(startMs, '.')} --> ${clock(endMs, '.')}\n${vttText(text)}\n\n`,
    )
    .join('')}`

const inside = (seconds: number, durationSeconds: number) => Math.min(Math.max(0, seconds), durationSeconds)

const presentSegment = (
  segment: SpeechSegment,
  id: number,
  { durationSeconds, isOpenAi }: TranscriptView,
): TranscriptSegment => ({
  id,
  ...(isOpenAi && { seek: segment.seek }),
  start: inside(segment.start, durationSeconds),
  end: inside(segment.end, durationSeconds),
  text: segment.text,
  tokens: segment.tokens,
  temperature: segment.temperature,
  avg_logprob: segment.avgLogprob,
  compression_ratio: segment.compressionRatio,
  no_speech_prob: segment.noSpeechProb,
})

/** The `usage` field that OpenAI client libraries expect. */
export const usageOf = ({
  durationSeconds,
  isOpenAi,
}: Pick<TranscriptView, 'durationSeconds' | 'isOpenAi'>) =>
  isOpenAi ? { usage: { type: 'duration' as const, seconds: Math.ceil(durationSeconds) } } : {}

const verboseOf = (transcript: Transcript, view: TranscriptView): Transcription => {
  const { task, durationSeconds, language, wantsWords } = view
  const spoken = transcript.language ?? language
  // The text of a translation is English, unless the provider left it untranslated.
  const isEnglish = task === 'translate' && transcript.translation !== 'none'
  return {
    task,
    language: isEnglish ? 'english' : spoken === undefined ? 'unknown' : languageName(spoken),
    duration: durationSeconds,
    text: transcript.text,
    segments: (transcript.segments ?? []).map((segment, id) => presentSegment(segment, id, view)),
    ...(wantsWords && {
      words: (transcript.words ?? []).map(({ word, start, end }) => ({
        word,
        start: inside(start, durationSeconds),
        end: inside(end, durationSeconds),
      })),
    }),
    ...usageOf(view),
  }
}

const plain = { 'content-type': 'text/plain; charset=utf-8' }

export const writeTranscript = (transcript: Transcript, view: TranscriptView): WrittenTranscript => {
  const { headers, body } = formatTranscript(transcript, view)
  const { translation } = transcript
  return { headers: { ...headers, ...(translation !== undefined && { 'x-translation': translation }) }, body }
}

const formatTranscript = (transcript: Transcript, view: TranscriptView): WrittenTranscript => {
  const { format, durationSeconds } = view
  if (format === 'json') return { headers: {}, body: { text: transcript.text, ...usageOf(view) } }
  if (format === 'verbose_json') return { headers: {}, body: verboseOf(transcript, view) }
  if (format === 'text') return { headers: plain, body: `${transcript.text}\n` }
  const cues = cuesOf(transcript.segments ?? [], durationSeconds)
  return {
    headers: { ...plain, 'content-disposition': `inline; filename="transcript.${format}"` },
    body: format === 'srt' ? srtOf(cues) : vttOf(cues),
  }
}

/** Whether a format contains timestamps. */
export const needsSegments = (format: TranscriptFormat): boolean => format !== 'json' && format !== 'text'
