import { createWorkerThread } from '../platform/worker-thread.ts'

export interface DecodeQuestion {
  /** Where the base64 text is. */
  from: { path: string; start: number; sizeBytes: number }
  /** The file to write. */
  to: string
}

export interface Decoded {
  /** The decoded size; undefined if the text is not base64. */
  sizeBytes: number | undefined
  /** Whether the text is base64 of the standard alphabet with padding, which can be forwarded unchanged. */
  isStandard: boolean
}

/** Decodes a recording from file to file in a worker thread, so that a long one does not block requests. */
export interface RecordingDecoder {
  decode: (question: DecodeQuestion) => Promise<Decoded>
  close: () => Promise<void>
}

export const createRecordingDecoder = (): RecordingDecoder => {
  const thread = createWorkerThread<DecodeQuestion, Decoded>(
    new URL('decode-recording.thread.ts', import.meta.url),
  )
  return { decode: thread.ask, close: thread.close }
}
