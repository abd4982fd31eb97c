import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { SpeechSegment, Transcript } from '../../providers/port/transcription.ts'
import { mergeTranscripts, placedTranscript, silentTranscript } from './merge-transcripts.ts'

const speech = (start: number, end: number, text: string): SpeechSegment => ({
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

const transcript = (text: string, segments?: SpeechSegment[], language?: string): Transcript => ({
  text,
  language,
  durationSeconds: undefined,
  segments,
  words: undefined,
  engine: undefined,
})

const recordingSegment = (startMs: number, endMs: number) => ({ n: 0, startMs, endMs })

test('timestamps become relative to the recording, and all other figures stay', () => {
  const given = transcript(' One two. ', [speech(0, 1.5, ' One'), speech(1.5, 2.25, ' two.')], 'en')
  expect(placedTranscript(given, recordingSegment(60_000, 90_000))).toEqual({
    text: 'One two.',
    language: 'en',
    engine: null,
    speech: [speech(60, 61.5, ' One'), speech(61.5, 62.25, ' two.')],
  })
})

test('timestamps stay within their recording segment and never decrease, whatever a provider returns', () => {
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
              times.map(([start, end]) => speech(start, end, 'x')),
            ),
            recordingSegment(n * 300_000, (n + 1) * 300_000),
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

describe('merged transcripts', () => {
  const merge = (...texts: string[]) =>
    mergeTranscripts(texts.map((text) => placedTranscript(transcript(text), recordingSegment(0, 1_000)))).text

  test('are joined by a space, except in scripts without spaces', () => {
    expect(merge('One.', ' Two. ', 'Three.')).toBe('One. Two. Three.')
    expect(merge('今日は。', '元気です')).toBe('今日は。元気です')
    expect(merge('今日は', 'hello')).toBe('今日は hello')
  })

  test('skip silent segments', () => {
    expect(merge('', 'One.', '', 'Two.', '')).toBe('One. Two.')
    expect(mergeTranscripts([silentTranscript(true), silentTranscript(true)])).toEqual({
      text: '',
      language: undefined,
      segments: [],
      engine: undefined,
    })
  })

  test('have the language of most of the text', () => {
    const parts = [transcript('Ja.', [], 'de'), transcript('A long sentence.', [], 'en')]
    expect(
      mergeTranscripts(parts.map((each) => placedTranscript(each, recordingSegment(0, 1)))).language,
    ).toBe('en')
  })

  test('have no speech segments if the model gives no timestamps', () => {
    expect(mergeTranscripts([silentTranscript(false)]).segments).toBeUndefined()
  })
})

test.each([
  ['nothing is said if all was translated', [undefined, undefined], undefined],
  ['all of the text is untranslated', ['none', 'none'], 'none'],
  ['a part of the text is untranslated', ['none', undefined], 'partial'],
  ['a part of one segment is untranslated', ['partial', undefined], 'partial'],
] as const)('%s', (_, translations, expected) => {
  const placed = translations.map((translation, n) =>
    placedTranscript({ ...transcript('Hola.'), translation }, recordingSegment(n * 1_000, (n + 1) * 1_000)),
  )
  expect(mergeTranscripts([...placed, silentTranscript(true)]).translation).toBe(expected)
})
