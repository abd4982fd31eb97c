import type { VideoProvider } from './video.ts'

/** One configured provider: what it can do, and how much of it we may use. */
export interface Provider {
  name: string
  video: VideoProvider
  /** Jobs that may be in flight at once. */
  slots: number
  /** Over how many watches its jobs are spread. */
  shards: number
  checkEveryMs: { least: number; most: number }
}

export interface Providers {
  all: () => Provider[]
  get: (name: string) => Provider
  /** The provider that serves a model, and the provider's own name for it. */
  forModel: (model: string) => { provider: Provider; upstreamModel: string }
}
