/** The command of `kinora` that calls an operation, and how it is given what the request has. */
import type { AdminOperationId } from '../admin-operations.ts'
import type { OperationId } from '../operations.ts'

export interface CommandCall {
  /** The words after `kinora`. */
  words: string
  /** Parameters and fields that are arguments, in their order. */
  arguments?: string[]
  /** The options of other parameters and fields, without dashes. */
  options?: Record<string, string>
  /** The file that the result is saved in. */
  output?: string
}

/** If a command calls several operations, the first is the one whose response `--json` prints. */
export const commandCalls: Partial<Record<OperationId | AdminOperationId, CommandCall>> = {
  createVideo: {
    words: 'video create',
    arguments: ['prompt'],
    options: { model: 'model', seconds: 'seconds', size: 'size' },
    output: 'video.mp4',
  },
  getVideo: { words: 'video get', arguments: ['id'] },
  getVideoContent: { words: 'video get', arguments: ['id'], output: 'video.mp4' },
  listVideos: { words: 'video list', options: { limit: 'limit' } },
  deleteVideo: { words: 'video delete', arguments: ['id'] },
  cancelVideo: { words: 'video cancel', arguments: ['id'] },
  followVideo: { words: 'video watch', arguments: ['id'], output: 'video.mp4' },
  remixVideo: { words: 'video remix', arguments: ['id', 'prompt'], output: 'video.mp4' },
  createCharacter: {
    words: 'characters create',
    options: { from_task: 'from-video', timestamps: 'timestamps' },
  },
  listCharacters: { words: 'characters list', options: { limit: 'limit' } },
  renameCharacter: { words: 'characters rename', arguments: ['id', 'username'] },
  deleteCharacter: { words: 'characters delete', arguments: ['id'] },
  listVoices: { words: 'voices' },
  createTranscription: { words: 'transcribe', arguments: ['file'], options: { model: 'model' } },
  createTranslation: { words: 'translate', arguments: ['file'], options: { model: 'model' } },
  createSpeech: {
    words: 'speak',
    arguments: ['input'],
    options: { model: 'model', voice: 'voice' },
    output: 'speech.mp3',
  },
  getUsage: { words: 'usage', options: { group_by: 'by', scope: 'scope' } },
  listWebhookEndpoints: { words: 'webhooks list', options: { limit: 'limit' } },
  testWebhookEndpoint: { words: 'webhooks trigger', arguments: ['type'], options: { id: 'endpoint' } },
  listWebhookDeliveries: { words: 'webhooks deliveries', options: { limit: 'limit' } },
  redeliverWebhookDelivery: { words: 'webhooks redeliver', arguments: ['id'] },
  listModels: { words: 'models list' },
  explainTask: { words: 'tasks why', arguments: ['id'] },
}

/** The operation whose response the command prints with `--json`, unless its row says otherwise. */
export const operationOfCommand = (words: string): string | undefined =>
  Object.entries(commandCalls).find(([, call]) => call.words === words)?.[0]
