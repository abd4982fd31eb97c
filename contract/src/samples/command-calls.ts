/** The command of `kinora` that calls an operation, and how it is given what the request has. */
import type { AdminOperationId } from '../admin-operations.ts'
import type { OperationId } from '../operations.ts'

export interface CommandCall {
  /** The words after `kinora`. */
  words: string
  /** Parameters and fields that are arguments, in their order. Those in micros are written as amounts. */
  arguments?: string[]
  /** The options of other parameters and fields, without dashes. */
  options?: Record<string, string>
  /** The options of secrets, which the command reads from a file. */
  secretFiles?: Record<string, string>
  /** The field whose entries are options too, or `--set name=value`. */
  settings?: string
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
  createTranscription: {
    words: 'transcribe',
    arguments: ['file'],
    options: { model: 'model', language: 'language', prompt: 'prompt', response_format: 'format' },
  },
  createTranslation: { words: 'translate', arguments: ['file'], options: { model: 'model' } },
  createSpeech: {
    words: 'speak',
    arguments: ['input'],
    options: { model: 'model', voice: 'voice', speed: 'speed', instructions: 'instructions' },
    output: 'speech.mp3',
  },
  getUsage: { words: 'usage', options: { group_by: 'by', scope: 'scope' } },
  listWebhookEndpoints: { words: 'webhooks list', options: { limit: 'limit' } },
  testWebhookEndpoint: { words: 'webhooks trigger', arguments: ['type'], options: { id: 'endpoint' } },
  listWebhookDeliveries: { words: 'webhooks deliveries', options: { limit: 'limit' } },
  redeliverWebhookDelivery: { words: 'webhooks redeliver', arguments: ['id'] },
  listModels: { words: 'models list' },
  getOwnAccount: { words: 'accounts get' },
  updateOwnAccount: { words: 'accounts update', options: { balance_alert_micros: 'balance-alert' } },
  createAccountKey: {
    words: 'keys create',
    arguments: ['name'],
    options: { scopes: 'scopes', models: 'models' },
  },
  listAccountKeys: { words: 'keys list', options: { limit: 'limit' } },
  getAccountKey: { words: 'keys get', arguments: ['id'] },
  rotateAccountKey: { words: 'keys rotate', arguments: ['id'], options: { overlap_seconds: 'overlap' } },
  deleteAccountKey: { words: 'keys revoke', arguments: ['id'] },
  listAccounts: { words: 'accounts list', options: { name: 'name', status: 'status', limit: 'limit' } },
  createAccount: { words: 'accounts create', arguments: ['name'] },
  getAccount: { words: 'accounts get', arguments: ['id'] },
  updateAccount: {
    words: 'accounts update',
    arguments: ['id'],
    options: { name: 'name', spend_cap_micros: 'spend-cap', concurrency: 'concurrency' },
  },
  createTopUp: {
    words: 'top-up',
    arguments: ['id', 'amount_micros'],
    options: { wallet: 'wallet', reason: 'reason', reference: 'reference' },
  },
  listKeys: { words: 'keys list', options: { account_id: 'account', limit: 'limit' } },
  createKey: {
    words: 'keys create',
    arguments: ['name'],
    options: { id: 'account', kind: 'kind', scopes: 'scopes' },
  },
  getKey: { words: 'keys get', arguments: ['id'] },
  rotateKey: { words: 'keys rotate', arguments: ['id'], options: { overlap_seconds: 'overlap' } },
  deleteKey: { words: 'keys revoke', arguments: ['id'] },
  listPlans: { words: 'plans list', options: { limit: 'limit' } },
  createPlan: {
    words: 'plans create',
    arguments: ['name'],
    options: { cycle_quota_micros: 'quota', cycle_days: 'days' },
  },
  updatePlan: {
    words: 'plans update',
    arguments: ['id'],
    options: { name: 'name', cycle_quota_micros: 'quota', cycle_days: 'days' },
  },
  listTasks: {
    words: 'tasks list',
    options: { account_id: 'account', model: 'model', status: 'status', limit: 'limit' },
  },
  createConsoleLink: { words: 'admin login' },
  explainTask: { words: 'tasks why', arguments: ['id'] },
  retryTask: { words: 'tasks retry', arguments: ['id'] },
  createRefund: {
    words: 'tasks refund',
    arguments: ['id', 'amount_micros'],
    options: { reason: 'reason', reference: 'reference' },
  },
  listRequests: { words: 'logs', options: { account_id: 'account', model: 'model', limit: 'limit' } },
  getRequest: { words: 'requests', arguments: ['id'] },
  listProviders: { words: 'providers list', options: { limit: 'limit' } },
  setProvider: {
    words: 'providers add',
    arguments: ['name'],
    options: { kind: 'kind', base_url: 'base-url', slots: 'slots', budget_per_day_micros: 'budget' },
    secretFiles: { api_key: 'key-file' },
  },
  testProvider: { words: 'providers test', arguments: ['name'] },
  setModelEntry: {
    words: 'models add',
    arguments: ['id'],
    options: { kind: 'kind' },
    settings: 'settings',
  },
  explainModelRoutes: {
    words: 'models explain',
    arguments: ['id'],
    options: { seconds: 'seconds', size: 'size' },
  },
}

/** The operation whose response the command prints with `--json`, unless its row says otherwise. */
export const operationOfCommand = (words: string): string | undefined =>
  Object.entries(commandCalls).find(([, call]) => call.words === words)?.[0]
