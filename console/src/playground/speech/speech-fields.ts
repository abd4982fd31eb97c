/** The values of the form, and the request that they are. */
import type { SpeechBody } from '@kinora/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import {
  instructionsCharactersMax,
  speechCharactersMax,
  type speechFormats,
} from '../../generated/audio-limits.ts'
import { kinora } from '../../service.ts'
import type { AudioModel } from '../audio/audio-models.ts'
import { useDebounced } from '../audio/use-debounced.ts'

type SpeechFormat = (typeof speechFormats)[number]

export interface SpeechFields {
  model: string
  text: string
  voice: string
  speed: number
  format: SpeechFormat
  instructions: string
}

/** As the service counts them. */
export const countCharacters = (text: string): number => [...text].length

export const isComplete = ({ text, instructions }: SpeechFields): boolean =>
  text.trim() !== '' &&
  countCharacters(text) <= speechCharactersMax &&
  countCharacters(instructions) <= instructionsCharactersMax

let kept: SpeechFields | undefined

/** The fields, of which the model and the voice are possible ones. They stay while other screens are open. */
export const useSpeechForm = (models: AudioModel[], example: string) => {
  const [fields, setFields] = useState<SpeechFields>(
    kept ?? { model: '', text: example, voice: '', speed: 1, format: 'mp3', instructions: '' },
  )
  const model = models.find(({ id }) => id === fields.model) ?? models[0]
  const voices = model?.voices ?? []
  const possible: SpeechFields = {
    ...fields,
    model: model?.id ?? '',
    voice: voices.includes(fields.voice) ? fields.voice : (voices[0] ?? ''),
  }
  const change = (changes: Partial<SpeechFields>) => {
    kept = { ...possible, ...changes }
    setFields(kept)
  }
  return [possible, change] as const
}

export const buildBody = ({ model, text, voice, speed, format, instructions }: SpeechFields): SpeechBody => ({
  model,
  voice,
  input: text,
  response_format: format,
  ...(speed !== 1 && { speed }),
  ...(instructions.trim() !== '' && { instructions }),
})

/** What the request would cost. The price of the last text stays until that of the new one is known. */
export const useQuote = (fields: SpeechFields) => {
  const late = useDebounced(fields)
  const { model, text, voice } = late
  return useQuery({
    queryKey: ['speech quote', model, voice, text],
    queryFn: ({ signal }) => kinora.speech.create({ model, voice, input: text, dry_run: true }, { signal }),
    enabled: model !== '' && isComplete({ ...late, instructions: '' }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

/** Whether the model follows instructions: a quote repeats the parameters that have an effect. */
export const useFollowsInstructions = ({ model, voice }: SpeechFields): boolean | undefined =>
  useQuery({
    queryKey: ['speech instructions', model],
    queryFn: async ({ signal }) => {
      const body = { model, voice, input: '.', instructions: '.', dry_run: true } as const
      const { parameters } = await kinora.speech.create(body, { signal })
      return typeof parameters === 'object' && parameters !== null && 'instructions' in parameters
    },
    enabled: model !== '',
    staleTime: 300_000,
  }).data
