import { FamilyBVideoTask } from '@kinora/contract/operations/video-tasks'
import { FamilyBVideoForm } from '@kinora/contract/operations/videos'

import { active, type VideoModel } from './model.ts'

const model = (id: string, pricePerSecondMicros: number): VideoModel => ({
  ...active,
  kind: 'video',
  family: 'B',
  id,
  created: 1_759_276_800,
  endpoints: ['/v1/videos', '/v1/video/create', '/v1/chat/completions'],
  form: FamilyBVideoForm,
  task: FamilyBVideoTask,
  defaultSeconds: 10,
  dimensions: {
    '720x1280': { width: 720, height: 1280 },
    '1280x720': { width: 1280, height: 720 },
    '480x480': { width: 480, height: 480 },
    '1080x1080': { width: 1080, height: 1080 },
  },
  referencesMax: 3,
  referenceMode: undefined,
  pricePerSecondMicros,
  usualSeconds: 120,
})

export const familyBModels: VideoModel[] = [model('vidB-2', 100_000), model('vidB-2-pro', 300_000)]
