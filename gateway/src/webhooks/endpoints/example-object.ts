/** What the test event of each type contains. */
import type { Character } from '@kinora/contract/operations/characters'
import type { TranscriptionTask } from '@kinora/contract/operations/transcription-tasks'
import type { Video } from '@kinora/contract/operations/video-fields'
import { eventTypes, type EventTypeName } from '@kinora/contract/webhook-events'

const createdAt = 1_798_761_600
const endedAt = createdAt + 75

const videoId = 'video_01976f7c-3b00-7000-8000-000000000000'
const transcriptionId = 'transcription_01976f7c-3b00-7000-8000-000000000000'
const uuid = '01976f7c-3b00-7000-8000-000000000000'

const video = (state: Pick<Video, 'status' | 'progress'> & Partial<Video>): Video => ({
  id: videoId,
  object: 'video',
  model: 'vidB-2',
  created_at: createdAt,
  seconds: 4,
  size: '1280x720',
  video_url: null,
  enhanced_prompt: 'A whale swims through a calm sea',
  status_update_time: endedAt,
  remixed_from_video_id: null,
  metadata: {},
  ...state,
})

const transcription = (
  state: Pick<TranscriptionTask, 'status' | 'progress'> & Partial<TranscriptionTask>,
): TranscriptionTask => ({
  id: transcriptionId,
  object: 'transcription.task',
  model: 'asr-1',
  task: 'transcribe',
  created_at: createdAt,
  completed_at: null,
  expires_at: null,
  duration: 1_800,
  error: null,
  ...state,
})

const character: Character = {
  id: 'char_example',
  username: 'red.panda_7',
  permalink: 'https://example.com/characters/red.panda_7',
  profile_picture_url: 'https://example.com/media/example/portrait.webp',
}

const upstreamError = { code: 'upstream_error', message: 'The provider failed to generate the result.' }

const account = { id: uuid, object: 'account' }
const currency = 'USD'

const examples: Record<EventTypeName, { id: string; [name: string]: unknown }> = {
  'video.processing': video({ status: 'processing', progress: 0, status_update_time: createdAt + 5 }),
  'video.progress': video({ status: 'processing', progress: 50, status_update_time: createdAt + 5 }),
  'video.completed': video({
    status: 'completed',
    progress: 100,
    video_url: 'https://example.com/media/example/video.mp4',
  }),
  'video.failed': video({ status: 'failed', progress: 50, error: upstreamError }),
  'transcription_task.processing': transcription({ status: 'processing', progress: 0 }),
  'transcription_task.completed': transcription({
    status: 'completed',
    progress: 100,
    completed_at: endedAt,
    expires_at: endedAt + 604_800,
  }),
  'transcription_task.failed': transcription({ status: 'failed', progress: 50, error: upstreamError }),
  'character.created': character,
  'character.deleted': { id: character.id, object: 'character', deleted: true },
  'balance.low': { ...account, balance_micros: 9_000_000, balance_alert_micros: 10_000_000, currency },
  'spend.threshold': {
    ...{ ...account, month: '2027-01', spent_micros: 101_000_000, spend_alert_micros: 100_000_000, currency },
  },
  'key.expiring': { id: uuid, object: 'key', name: 'Uploads', hint: 'a1B2', expires_at: endedAt },
  'model.deprecated': { id: 'vidB-2', object: 'model', state: 'deprecated' },
  'webhook_endpoint.disabled': {
    ...{ id: uuid, object: 'webhook_endpoint', url: 'https://example.com/webhooks' },
    ...{ disabled_reason: 'failing', disabled_at: endedAt },
  },
}

/** The `data` of a test event, as an endpoint with this payload receives it. */
export const buildExample = (
  type: EventTypeName,
  payload: 'full' | 'thin',
): { objectId: string; data: object } => {
  const example = examples[type]
  const isThin = payload === 'thin' && (eventTypes[type].isOfTask || type === 'character.created')
  return { objectId: example.id, data: { ...(isThin ? { id: example.id } : example), test: true } }
}
