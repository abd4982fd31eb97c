/** The form of this tab, which survives a reload without its images. */
import type { VideoForm } from './form.ts'

const storageKey = 'kinora-playground-draft'

export const readDraft = (): Partial<VideoForm> => {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}')
    return typeof stored === 'object' && stored !== null ? { ...stored, images: [] } : {}
  } catch {
    return {}
  }
}

export const saveDraft = (form: VideoForm): void =>
  sessionStorage.setItem(storageKey, JSON.stringify({ ...form, images: [] }))
