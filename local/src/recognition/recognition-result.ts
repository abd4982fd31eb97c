import type { ChosenEngine, RecognitionOrder } from './recognition-plan.ts'
import type { SpokenSegment } from './recognition-task.ts'
import type { SpokenWord } from './whisper/written-words.ts'

export interface Segment extends SpokenSegment {
  id: number
}

export interface Recognition extends ChosenEngine {
  text: string
  /** An ISO 639-1 code; undefined for silence, or if the engine does not detect languages. */
  language: string | undefined
  durationSeconds: number
  /** Undefined if they were not requested. */
  segments: Segment[] | undefined
  words: SpokenWord[] | undefined
  /** Set if all or a part of a translation was too uncertain, and the text is in the spoken language there. */
  translation: 'none' | 'partial' | undefined
}

/** Events while a recording is recognized. The texts together are the whole text. */
export type RecognitionEvent = ({ type: 'begun' } & ChosenEngine) | { type: 'spoken'; text: string }

export type Recognise = (
  order: RecognitionOrder,
  signal: AbortSignal,
) => AsyncGenerator<RecognitionEvent, Recognition, undefined>
