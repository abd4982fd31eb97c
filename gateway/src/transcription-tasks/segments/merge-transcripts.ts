import type { Engine } from '../../providers/port/engine.ts'
import type { Segment, Transcript } from '../../providers/port/transcription.ts'
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
 * A provider's transcript of a part, with its times counted from the beginning of the recording. A provider may be a
 * little off; a time outside of the part becomes its edge, and nothing begins before what came earlier.
 */
export const placedTranscript = (
  { text, language, segments, engine }: Transcript,
  { startMs, endMs }: RecordingSegment,
): SegmentTranscript => {
  let earliestMs = startMs
  const within = (seconds: number) => Math.min(endMs, Math.max(earliestMs, startMs + toMs(seconds)))
  const placed = segments?.map((segment): Segment => {
    const fromMs = within(segment.start)
    earliestMs = fromMs
    return { ...segment, start: fromMs / 1000, end: within(segment.end) / 1000 }
  })
  return { text: text.trim(), language: language ?? null, segments: placed ?? null, engine: engine ?? null }
}

const silent: SegmentTranscript = { text: '', language: null, segments: [], engine: null }

/** The transcript of a part in which nothing can be heard; nobody has to be asked for it. */
export const silentTranscript = (hasSegments: boolean): SegmentTranscript =>
  hasSegments ? silent : { ...silent, segments: null }

/** The language that most of what was written is in. */
const languageOf = (parts: SegmentTranscript[]): string | undefined => {
  const written = new Map<string, number>()
  for (const { language, text } of parts) {
    if (language !== null) written.set(language, (written.get(language) ?? 0) + text.length)
  }
  return [...written].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}

/** All of what is said, from all parts in their order. */
export const mergeTranscripts = (
  parts: SegmentTranscript[],
): Omit<Transcript, 'durationSeconds' | 'words'> & { engine: Engine | undefined } => ({
  text: parts.reduce((text, part) => join(text, part.text), ''),
  language: languageOf(parts),
  segments: parts.some(({ segments }) => segments === null)
    ? undefined
    : parts.flatMap(({ segments }) => segments ?? []),
  engine: parts.find(({ engine }) => engine !== null)?.engine ?? undefined,
})
