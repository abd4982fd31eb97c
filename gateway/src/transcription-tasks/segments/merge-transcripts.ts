import type { Engine } from '../../providers/port/engine.ts'
import type { SpeechSegment, Transcript } from '../../providers/port/transcription.ts'
import type { RecordingSegment, SegmentTranscript } from '../transcription-task.ts'

/** Scripts that are written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}。、，！？]/u

const join = (left: string, right: string): string => {
  if (left === '' || right === '') return left + right
  const isUnspaced = unspaced.test(left.at(-1) ?? '') && unspaced.test(right.at(0) ?? '')
  return `${left}${isUnspaced ? '' : ' '}${right}`
}

const toMs = (seconds: number) => Math.round(seconds * 1000)

/**
 * Converts a provider's transcript of a recording segment: timestamps become relative to the recording, are limited to
 * the segment and never decrease.
 */
export const placedTranscript = (
  { text, language, segments: speech, engine, translation }: Transcript,
  { startMs, endMs }: RecordingSegment,
): SegmentTranscript => {
  let earliestMs = startMs
  const within = (seconds: number) => Math.min(endMs, Math.max(earliestMs, startMs + toMs(seconds)))
  const placed = speech?.map((each): SpeechSegment => {
    const fromMs = within(each.start)
    earliestMs = fromMs
    return { ...each, start: fromMs / 1000, end: within(each.end) / 1000 }
  })
  return {
    text: text.trim(),
    language: language ?? null,
    speech: placed ?? null,
    engine: engine ?? null,
    ...(translation !== undefined && { translation }),
  }
}

const silent: SegmentTranscript = { text: '', language: null, speech: [], engine: null }

/** The transcript of a silent recording segment, which is not sent to a provider. */
export const silentTranscript = (hasTimestamps: boolean): SegmentTranscript =>
  hasTimestamps ? silent : { ...silent, speech: null }

/** The language of most of the text. */
const languageOf = (transcripts: SegmentTranscript[]): string | undefined => {
  const lengths = new Map<string, number>()
  for (const { language, text } of transcripts) {
    if (language !== null) lengths.set(language, (lengths.get(language) ?? 0) + text.length)
  }
  return [...lengths].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}

/** How much of the text was left untranslated; undefined if nothing was. */
const translationOf = (transcripts: SegmentTranscript[]): Transcript['translation'] => {
  const spoken = transcripts.filter(({ text }) => text !== '')
  if (!spoken.some(({ translation }) => translation !== undefined)) return undefined
  return spoken.every(({ translation }) => translation === 'none') ? 'none' : 'partial'
}

/** Merges the transcripts of all recording segments, in order, into the transcript of the recording. */
export const mergeTranscripts = (
  transcripts: SegmentTranscript[],
): Omit<Transcript, 'durationSeconds' | 'words'> & { engine: Engine | undefined } => ({
  text: transcripts.reduce((text, transcript) => join(text, transcript.text), ''),
  language: languageOf(transcripts),
  segments: transcripts.some(({ speech }) => speech === null)
    ? undefined
    : transcripts.flatMap(({ speech }) => speech ?? []),
  engine: transcripts.find(({ engine }) => engine !== null)?.engine ?? undefined,
  translation: translationOf(transcripts),
})
