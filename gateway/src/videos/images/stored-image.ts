import type { Call } from '../../http/call.ts'
import type { SafeFetch } from '../../safe-fetch/safe-fetch.ts'
import type { FindLinkedFile } from '../../storage/find-linked-file.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'

/** A stored reference image, video or audio file. */
export interface StoredImage {
  id: string
  storageKey: string
  contentType: string
  sizeBytes: number
  sha256: string
}

/** Measures an audio file, and refuses one that is not usable or too long. */
export type MeasureClip = (
  path: string,
  param: string,
  mediaWork: Call['mediaWork'],
) => Promise<{ contentType: string }>

export interface ImageDependencies {
  mediaStore: MediaStore
  safeFetch: SafeFetch
  findLinkedFile: FindLinkedFile
  measureClip: MeasureClip
  diskSpace: { assertFree: (neededBytes?: number) => Promise<void> }
}
