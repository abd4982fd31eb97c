/** The values of the form, of which the model is a possible one. They stay while other screens are open. */
import { useEffect, useState } from 'react'

import type { AudioModel } from '../audio/audio-models.ts'
import type { TranscriptionFields } from './runs.ts'

export interface FormFields extends TranscriptionFields {
  file: File | undefined
}

let kept: FormFields | undefined

export const useTranscriptionForm = (models: AudioModel[]) => {
  const [fields, setFields] = useState<FormFields>(
    kept ?? {
      ...{ mode: 'transcribe', model: '', language: '', prompt: '', timestamps: 'segment' },
      file: undefined,
    },
  )
  const model = models.find(({ id }) => id === fields.model) ?? models[0]
  const possible: FormFields = { ...fields, model: model?.id ?? '' }
  const change = (changes: Partial<FormFields>) => {
    kept = { ...possible, ...changes }
    setFields(kept)
  }
  return [possible, change] as const
}

/** Seconds; undefined if the browser cannot tell. */
export const useDuration = (file: File | undefined): number | undefined => {
  const [known, setKnown] = useState<{ file: File; durationS: number }>()
  useEffect(() => {
    if (file === undefined) return
    const url = URL.createObjectURL(file)
    const element = new Audio()
    element.preload = 'metadata'
    const read = () => {
      if (Number.isFinite(element.duration)) setKnown({ file, durationS: element.duration })
      // The recordings of a browser do not say how long they are until their end was sought.
      else element.currentTime = Number.MAX_SAFE_INTEGER
    }
    element.addEventListener('loadedmetadata', read)
    element.addEventListener('durationchange', read)
    element.src = url
    return () => {
      element.removeAttribute('src')
      URL.revokeObjectURL(url)
    }
  }, [file])
  return known !== undefined && known.file === file ? known.durationS : undefined
}
