import type { Event } from '@kinora/contract/operations/events'

import type { FeedEvent } from './event-feed-store.ts'

/** The state of a task after the event, as a read shows it. Read the task for the rest. */
const presentTask = ({ type, objectId, data }: FeedEvent): Event['data'] => {
  const [object = '', kind = ''] = type.split('.')
  const status = kind === 'progress' ? 'processing' : kind
  const known = (data as { progress?: unknown }).progress
  const progress = kind === 'completed' ? 100 : typeof known === 'number' ? known : undefined
  return {
    id: objectId,
    object: object === 'transcription_task' ? 'transcription.task' : object,
    status,
    ...(progress !== undefined && { progress }),
  }
}

export const presentEvent = (event: FeedEvent): Event => ({
  id: event.id,
  object: 'event',
  type: event.type,
  created_at: Math.floor(event.at.getTime() / 1000),
  data: event.isOfTask ? presentTask(event) : event.data,
})
