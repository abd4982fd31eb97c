import { Readable } from 'node:stream'

import type { VideoJob } from '../../src/providers/port/video.ts'

/** A minimal video job with the given changes. */
export const jobForTest = (changes: Partial<VideoJob>): VideoJob => ({
  taskId: 'task-1',
  model: 'maker-2',
  prompt: 'a cat',
  seconds: 4,
  width: 1280,
  height: 720,
  watermark: false,
  isPrivate: false,
  style: undefined,
  references: [],
  referenceVideo: undefined,
  referenceAudio: undefined,
  sound: undefined,
  source: undefined,
  characters: [],
  webhookUrl: undefined,
  ...changes,
})

export const imageForTest = (
  content: string | Buffer,
  contentType = 'image/png',
): VideoJob['references'][number] => ({
  role: 'style',
  contentType,
  sizeBytes: Buffer.byteLength(content),
  open: async () => Readable.from([Buffer.from(content)]),
})
