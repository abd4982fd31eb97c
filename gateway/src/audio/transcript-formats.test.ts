import { expect, test } from 'vitest'

import type { SpeechSegment } from '../providers/port/transcription.ts'
import { cuesOf, writeTranscript } from './transcript-formats.ts'

const said = (start: number, end: number, text: string): SpeechSegment => ({
  start,
  end,
  text,
  tokens: [],
  temperature: 0,
  avgLogprob: 0,
  compressionRatio: 0,
  noSpeechProb: 0,
  seek: 0,
})
const times = (segments: SpeechSegment[], durationSeconds: number) =>
  cuesOf(segments, durationSeconds).map(({ startMs, endMs }) => [startMs, endMs])

test('half a millisecond is rounded up, regardless of its binary representation', () => {
  // As binary fractions, 1.0005 and 4.0145 are slightly smaller.
  expect(times([said(0.0004, 1.0005, 'a'), said(1.2344999, 4.0145, 'b')], 10)).toEqual([
    [0, 1001],
    [1234, 4015],
  ])
})

test('cues stay within the recording and do not overlap', () => {
  expect(times([said(-3, 2, 'a'), said(1, 3, 'b'), said(3, 99, 'c')], 5)).toEqual([
    [0, 2000],
    [2000, 3000],
    [3000, 5000],
  ])
})

test('a segment without time of its own joins the previous cue; a first cue lasts a millisecond', () => {
  expect(cuesOf([said(0, 2, 'a'), said(2, 2, 'b'), said(1, 1.5, 'c'), said(9, 10, 'd')], 2)).toEqual([
    { startMs: 0, endMs: 2000, text: 'a b c d' },
  ])
  expect(times([said(7, 8, 'a')], 2)).toEqual([[1999, 2000]])
})

test('a cue has one line of text, and a segment without words has no cue', () => {
  expect(cuesOf([said(0, 1, ' one\n\ntwo\r\n three '), said(1, 2, ' \n ')], 2)).toEqual([
    { startMs: 0, endMs: 1000, text: 'one two three' },
  ])
})

const view = {
  task: 'transcribe',
  durationSeconds: 7300,
  language: undefined,
  wantsWords: false,
  isOpenAi: false,
} as const
const transcript = {
  text: 'a --> b',
  language: 'de',
  durationSeconds: undefined,
  words: undefined,
  engine: undefined,
  segments: [said(3599.9996, 7265.4321, 'a --> b <i> & c')],
}

test('srt and vtt write hours and escape arrows and markup in the text', () => {
  expect(writeTranscript(transcript, { ...view, format: 'srt' }).body).toBe(
    '1\n01:00:00,000 --> 02:01:05,432\na -> b <i> & c\n\n',
  )
  expect(writeTranscript(transcript, { ...view, format: 'vtt' }).body).toBe(
    'WEBVTT\n\n01:00:00.000 --> 02:01:05.432\na --&gt; b &lt;i&gt; &amp; c\n\n',
  )
})

test('silence gives an empty transcript in each format', () => {
  const silence = { ...transcript, text: '', segments: [] }
  expect(writeTranscript(silence, { ...view, format: 'srt' }).body).toBe('')
  expect(writeTranscript(silence, { ...view, format: 'vtt' }).body).toBe('WEBVTT\n\n')
  expect(writeTranscript(silence, { ...view, format: 'text' }).body).toBe('\n')
  expect(writeTranscript(silence, { ...view, format: 'json' }).body).toEqual({ text: '' })
})

test('the language is the recognized one, else the requested one, and English for a translation', () => {
  const languageOf = (language: string | undefined, changes: object) => {
    const { body } = writeTranscript(
      { ...transcript, language },
      { ...view, format: 'verbose_json', ...changes },
    )
    return (body as { language?: string }).language
  }
  expect(languageOf('de', { language: 'fr' })).toBe('german')
  expect(languageOf(undefined, { language: 'fr' })).toBe('french')
  expect(languageOf(undefined, {})).toBe('unknown')
  expect(languageOf('de', { task: 'translate' })).toBe('english')
})
