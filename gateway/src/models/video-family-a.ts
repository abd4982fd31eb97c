import { FamilyAVideoTask } from '@kinora/contract/operations/video-tasks'
import { FamilyAVideoForm } from '@kinora/contract/operations/videos'
import { Type } from 'typebox'

import { active, type VideoModel } from './model.ts'

const landscape = { width: 1280, height: 720 }
const portrait = { width: 720, height: 1280 }

interface Row {
  id: string
  pricePerSecondMicros: number
  referencesMax?: number
  referenceMode?: VideoModel['referenceMode']
}

const base = {
  ...active,
  kind: 'video',
  family: 'A',
  created: 1_748_736_000,
  dimensions: { '16x9': landscape, '720x1280': portrait },
  defaultSeconds: 8,
  usualSeconds: 90,
} as const

const { aspect_ratio: _, ...withoutAspectRatio } = FamilyAVideoTask.properties
const TaskWithoutAspectRatio = Type.Object(withoutAspectRatio)

/** A model of the create-and-query API. Only ids that start with vidA3 support `aspect_ratio`. */
const createStyle = ({ id, pricePerSecondMicros, referencesMax = 3, referenceMode }: Row): VideoModel => ({
  ...base,
  id,
  endpoints: ['/v1/video/create'],
  form: undefined,
  task: id.startsWith('vidA3') ? FamilyAVideoTask : TaskWithoutAspectRatio,
  referencesMax,
  referenceMode,
  pricePerSecondMicros,
})

const videosStyle = ({ id, pricePerSecondMicros }: Row): VideoModel => ({
  ...base,
  id,
  endpoints: ['/v1/videos'],
  form: FamilyAVideoForm,
  task: undefined,
  referencesMax: 1,
  referenceMode: undefined,
  pricePerSecondMicros,
})

export const familyAModels: VideoModel[] = [
  createStyle({ id: 'vidA2', pricePerSecondMicros: 200_000 }),
  createStyle({ id: 'vidA2-fast', pricePerSecondMicros: 100_000 }),
  createStyle({ id: 'vidA2-pro', pricePerSecondMicros: 350_000 }),
  createStyle({
    id: 'vidA2-fast-frames',
    pricePerSecondMicros: 100_000,
    referencesMax: 2,
    referenceMode: 'frames',
  }),
  createStyle({
    id: 'vidA2-fast-components',
    pricePerSecondMicros: 100_000,
    referencesMax: 3,
    referenceMode: 'components',
  }),
  createStyle({ id: 'vidA3', pricePerSecondMicros: 200_000 }),
  createStyle({ id: 'vidA3-fast', pricePerSecondMicros: 100_000 }),
  createStyle({ id: 'vidA3-pro', pricePerSecondMicros: 400_000 }),
  createStyle({
    id: 'vidA3-pro-frames',
    pricePerSecondMicros: 400_000,
    referencesMax: 1,
    referenceMode: 'frames',
  }),
  createStyle({ id: 'vidA3.1', pricePerSecondMicros: 200_000 }),
  createStyle({ id: 'vidA3.1-fast', pricePerSecondMicros: 100_000 }),
  videosStyle({ id: 'vidA_3_1', pricePerSecondMicros: 200_000 }),
  videosStyle({ id: 'vidA_3_1-fast', pricePerSecondMicros: 100_000 }),
]
