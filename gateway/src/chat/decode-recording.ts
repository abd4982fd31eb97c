import { createSideThread } from '../platform/worker-thread.ts'

export interface DecodeQuestion {
  /** Where the base64 is. */
  from: { path: string; start: number; sizeBytes: number }
  /** The file to make. */
  to: string
}

export interface Decoded {
  /** Of what was decoded; undefined where it was no base64. */
  sizeBytes: number | undefined
  /** Whether it was base64 of the standard alphabet with its padding, which can be sent on as it came. */
  isStandard: boolean
}

/** Decodes a recording from file to file; minutes of speech take a while, and nobody has to wait for it. */
export interface RecordingDecoder {
  decode: (question: DecodeQuestion) => Promise<Decoded>
  close: () => Promise<void>
}

export const createRecordingDecoder = (): RecordingDecoder => {
  const thread = createSideThread<DecodeQuestion, Decoded>(
    new URL('decode-recording.thread.ts', import.meta.url),
  )
  return { decode: thread.ask, close: thread.close }
}
