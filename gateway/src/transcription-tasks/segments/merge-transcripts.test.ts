import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { Segment, Transcript } from '../../providers/port/transcription.ts'
import { mergeTranscripts, placedTranscript, silentTranscript } from './merge-transcripts.ts'

const segment = (start: number, end: number, text: string): Segment => ({
  start,
  end,
  text,
  tokens: [1, 2],
  temperature: 0,
  avgLogprob: -0.2,
  compressionRatio: 1.1,
  noSpeechProb: 0.01,
  seek: 0,
})

const transcript = (text: string, segments?: Segment[], language?: string): Transcript => ({
  text,
  language,
  durationSeconds: undefined,
  segments,
  words: undefined,
  engine: undefined,
})

const part = (startMs: number, endMs: number) => ({ n: 0, startMs, endMs })

test('times count from the beginning of the recording, and all figures are kept', () => {
  const given = transcript(' One two. ', [segment(0, 1.5, ' One'), segment(1.5, 2.25, ' two.')], 'en')
  expect(placedTranscript(given, part(60_000, 90_000))).toEqual({
    text: 'One two.',
    language: 'en',
    engine: null,
    segments: [segment(60, 61.5, ' One'), segment(61.5, 62.25, ' two.')],
  })
})

test('whatever times a provider gives, they stay inside their part and never go back', () => {
  const seconds = fc.double({ min: -100, max: 1_000, noNaN: true })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.array(fc.tuple(seconds, seconds), { maxLength: 8 })), {
        minLength: 1,
        maxLength: 6,
      }),
      (parts) => {
        const placed = parts.map(([times], n) =>
          placedTranscript(
            transcript(
              '',
              times.map(([start, end]) => segment(start, end, 'x')),
            ),
            part(n * 300_000, (n + 1) * 300_000),
          ),
        )
        const { segments = [] } = mergeTranscripts(placed)
        expect(segments.length).toBe(parts.flatMap(([times]) => times).length)
        let earliest = 0
        for (const { start, end } of segments) {
          expect(start).toBeGreaterThanOrEqual(earliest)
          expect(end).toBeGreaterThanOrEqual(start)
          expect(end).toBeLessThanOrEqual(parts.length * 300)
          earliest = start
        }
      },
    ),
  )
})

describe('all parts together', () => {
  const merge = (...texts: string[]) =>
    mergeTranscripts(texts.map((text) => placedTranscript(transcript(text), part(0, 1_000)))).text

  test('have one space between them, and none where the script has none', () => {
    expect(merge('One.', ' Two. ', 'Three.')).toBe('One. Two. Three.')
    expect(merge('今日は。', '元気です')).toBe('今日は。元気です')
    expect(merge('今日は', 'hello')).toBe('今日は hello')
  })

  test('may be silent, all or some', () => {
    expect(merge('', 'One.', '', 'Two.', '')).toBe('One. Two.')
    expect(mergeTranscripts([silentTranscript(true), silentTranscript(true)])).toEqual({
      text: '',
      language: undefined,
      segments: [],
      engine: undefined,
    })
  })

  test('are in the language that most of the text is in', () => {
    const parts = [transcript('Ja.', [], 'de'), transcript('A long sentence.', [], 'en')]
    expect(mergeTranscripts(parts.map((each) => placedTranscript(each, part(0, 1)))).language).toBe('en')
  })

  test('of a model without times have none', () => {
    expect(mergeTranscripts([silentTranscript(false)]).segments).toBeUndefined()
  })
})
