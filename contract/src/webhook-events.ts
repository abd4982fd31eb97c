/** The events that an account can receive by webhook and read in its event feed. */

export interface EventType {
  /** When it occurs: completes "Sent when …". */
  description: string
  /** Whether a create can name it in `webhook_events`: events of a task. The others belong to the account. */
  isOfTask: boolean
  /** A key needs this scope to see the event in the feed. */
  scope?: 'account'
}

export const eventTypes = {
  'video.processing': { isOfTask: true, description: 'a provider has started the video' },
  'video.progress': { isOfTask: true, description: 'the progress of a video has passed a multiple of 10 %' },
  'video.completed': { isOfTask: true, description: 'a video is completed' },
  'video.failed': { isOfTask: true, description: 'a video has failed or was cancelled' },
  'transcription_task.processing': { isOfTask: true, description: 'a transcription task has started' },
  'transcription_task.completed': { isOfTask: true, description: 'a transcription task is completed' },
  'transcription_task.failed': { isOfTask: true, description: 'a transcription task has failed' },
  'character.created': { isOfTask: false, description: 'a character was created' },
  'character.deleted': { isOfTask: false, description: 'a character was deleted' },
  'balance.low': { isOfTask: false, description: 'the balance has fallen below the alert of the account' },
  'spend.threshold': {
    isOfTask: false,
    description: 'the spend of a month has reached an alert of the account',
  },
  'key.expiring': { isOfTask: false, scope: 'account', description: 'a key expires within seven days' },
  'model.deprecated': { isOfTask: false, description: 'a model that the account uses was deprecated' },
  'webhook_endpoint.disabled': {
    isOfTask: false,
    scope: 'account',
    description: 'a webhook endpoint was disabled because it kept failing or responded with 410',
  },
} as const satisfies Record<string, EventType>

export type EventTypeName = keyof typeof eventTypes
export const eventTypeNames = Object.keys(eventTypes) as EventTypeName[]
export const taskEventTypeNames = eventTypeNames.filter((name) => eventTypes[name].isOfTask)
