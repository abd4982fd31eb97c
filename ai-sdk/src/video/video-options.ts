import type { Option } from '../read-options.ts'

/** `providerOptions.kinora` of a video. */
export type KinoraVideoOptions = {
  /** By which the service recognizes a repetition of this request. Without it, every call of the SDK has one of its own. */
  idempotencyKey?: string
  /** Your own data about the request, by which usage can be grouped. */
  metadata?: Record<string, string | number | boolean>
  /** The URL to which the events of the task are sent. The SDK's own webhook option takes precedence. */
  webhookUrl?: string
  /** The types of these events. Default: `video.completed` and `video.failed`. */
  webhookEvents?: string[]
  /** Whether the video carries a watermark. Default: true. */
  watermark?: boolean
  /** Whether to keep the video unpublished. */
  private?: boolean
  /** The name of a style preset. */
  style?: string
  /** Whether to rewrite the prompt and translate it into English. */
  enhancePrompt?: boolean
  /** The URL of audio that the video is based on. */
  referenceAudio?: string
  /** The URL of a video from which to create a character for this video. */
  characterUrl?: string
  /** The part of that video: `<start>,<end>` in seconds. */
  characterTimestamps?: string
  /** The id of a completed task from which to create a character. */
  characterFromTask?: string
}

export const videoOptions: Record<keyof KinoraVideoOptions, Option> = {
  idempotencyKey: { kind: 'string' },
  metadata: { kind: 'object', parameter: 'metadata' },
  webhookUrl: { kind: 'string', parameter: 'webhook_url' },
  webhookEvents: { kind: 'strings', parameter: 'webhook_events' },
  watermark: { kind: 'boolean', parameter: 'watermark' },
  private: { kind: 'boolean', parameter: 'private' },
  style: { kind: 'string', parameter: 'style' },
  enhancePrompt: { kind: 'boolean', parameter: 'enhance_prompt' },
  referenceAudio: { kind: 'string', parameter: 'reference_audio' },
  characterUrl: { kind: 'string', parameter: 'character_url' },
  characterTimestamps: { kind: 'string', parameter: 'character_timestamps' },
  characterFromTask: { kind: 'string', parameter: 'character_from_task' },
}
