/** Calls every public operation once, in an order in which each finds what it needs. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Recorder } from './record.ts'

const isEnded = ({ status }: Record<string, unknown>) => status === 'completed' || status === 'failed'
const spokenText = 'The meeting starts at nine. Please bring the report.'

export interface CreatedTasks {
  completed: string
  cancelled: string
}

const runVideos = async ({ call, callUntil }: Recorder): Promise<CreatedTasks> => {
  const video = { model: 'vidB-2', prompt: 'A whale swims through a calm sea', seconds: 4, size: '480x480' }
  const created = await call('createVideo', { form: { ...video, metadata: '{"team":"films"}' } })
  const path = { id: created.id }
  await callUntil('getVideo', { path, query: { wait: '30' } }, isEnded)
  await call('followVideo', { path })
  await call('listVideos', { query: { limit: '1' } })
  // An event is listed when no older transaction is open.
  await callUntil(
    'listEvents',
    { query: { type: 'video.completed', limit: '1' } },
    ({ data }) => (data as unknown[]).length > 0,
  )
  await call('getVideoTimeline', { path })
  const content = await call('getVideoContent', { path })
  const link = new URL(String(content['video_url']))
  const [, , id = '', name = ''] = link.pathname.split('/')
  await call('getMedia', { path: { id, name }, query: Object.fromEntries(link.searchParams) })

  const character = await call('createCharacter', { json: { from_task: created.id, timestamps: '0,2' } })
  await call('listCharacters', { query: { limit: '1' } })
  await call('getCharacter', { path: { id: character.id } })
  const username = 'red.panda_7'
  const renamed = await call('renameCharacter', { path: { id: character.id }, json: { username } })
  const page = new URL(String(renamed['permalink']))
  await call('showCharacter', { path: { username }, query: Object.fromEntries(page.searchParams) })
  await call('deleteCharacter', { path: { id: character.id } })

  await call('queryVideoTask', { query: { id: created.id } })
  const task = await call('createVideoTask', {
    json: { model: 'vidA3.1-fast', prompt: 'A paper boat on a river', aspect_ratio: '16:9' },
  })
  await call('cancelVideo', { path: { id: task.id } })

  const remix = await call('remixVideo', { path, json: { prompt: 'The same whale at night' } })
  await call('cancelVideo', { path: { id: remix.id } })
  await call('deleteVideo', { path: { id: remix.id } })
  const edit = await call('editVideo', {
    json: { prompt: 'The same whale in the rain', video: { id: created.id } },
  })
  await call('cancelVideo', { path: { id: edit.id } })
  return { completed: created.id, cancelled: task.id }
}

const runAudio = async ({ url, call, callUntil }: Recorder, key: string): Promise<void> => {
  const model = 'chat-4o-mini-tts-2025-12-15'
  await call('createSpeech', { json: { model, input: spokenText, voice: 'alloy' } })
  const spoken = await fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: spokenText, voice: 'alloy' }),
  })
  const voices = await call('listVoices', {})
  const [{ sample }] = voices['data'] as [{ sample: string }]
  const link = new URL(sample)
  const [, , , , named = '', voice = ''] = link.pathname.split('/')
  await call('getVoiceSample', {
    path: { model: named, voice },
    query: Object.fromEntries(link.searchParams),
  })
  const file = new Blob([await spoken.arrayBuffer()], { type: 'audio/mpeg' })
  await call('createTranscription', { form: { model: 'asr-1', file } })
  await call('createTranslation', { form: { model: 'asr-1', file } })
  const task = await call('createTranscriptionTask', { form: { model: 'asr-1', file } })
  const path = { id: task.id }
  await callUntil('getTranscriptionTask', { path }, isEnded)
  await call('listTranscriptionTasks', { query: { limit: '1' } })
  await call('getTranscript', { path, query: { response_format: 'json' } })
  await call('deleteTranscriptionTask', { path })
}

const currentMonth = () => new Date().toISOString().slice(0, 7)
const runWebhooks = async ({ call, callUntil }: Recorder): Promise<void> => {
  const receiver = createServer((request, response) => request.resume().on('end', () => response.end('ok')))
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  const { port } = receiver.address() as AddressInfo
  const created = await call('createWebhookEndpoint', {
    json: { url: `http://127.0.0.1:${port}/webhooks`, events: ['video.completed', 'video.failed'] },
  })
  const path = { id: created.id }
  await call('listWebhookEventTypes')
  await call('listWebhookEndpoints', { query: { limit: '1' } })
  await call('getWebhookEndpoint', { path })
  await call('updateWebhookEndpoint', { path, json: { name: 'Production' } })
  await call('postWebhookEndpoint', { path, json: { concurrency: 20 } })
  await call('rotateWebhookEndpointSecret', { path, json: { overlap_seconds: 3_600 } })
  await call('redeliverWebhookEndpoint', { path, json: { since: 1_798_761_600 } })
  const delivery = { id: (await call('testWebhookEndpoint', { path, json: { type: 'video.completed' } })).id }
  await callUntil('getWebhookDelivery', { path: delivery }, ({ state }) => state === 'delivered')
  await call('listWebhookDeliveries', { query: { limit: '1' } })
  await call('redeliverWebhookDelivery', { path: delivery })
  await callUntil('getWebhookDelivery', { path: delivery }, ({ state }) => state === 'delivered')
  await call('deleteWebhookEndpoint', { path })
  await call('getWebhookKeys')
  receiver.close()
}

const runConsole = async ({ call }: Recorder, key: string): Promise<void> => {
  const { url } = await call('createConsoleLink', { json: { keys: [key] } })
  await call('checkConsoleLink', { json: { link: new URL(String(url)).hash.replace('#link=', '') } })
  const { id } = await call('createConsoleSession', { json: { keys: [key] } })
  await call('getConsoleSession')
  await call('listConsoleSessions', { query: { limit: '1' } })
  await call('revokeConsoleSession', { path: { id } })
  await call('createConsoleSession', { json: { keys: [key] } })
  await call('deleteConsoleSession')
}

export const runPublicOperations = async (recorder: Recorder, key: string): Promise<CreatedTasks> => {
  const { call } = recorder
  await call('getMe')
  await call('listModels')
  await call('getModel', { path: { id: 'vidB-2' } })
  await call('getService')
  await call('getDocs')
  await call('getLlms')
  await call('getLlmsFull')
  await call('getErrorDocs')
  await call('getWebhookSecret')
  await call('rotateWebhookSecret', { json: { overlap_seconds: 3_600 } })
  await call('getStatus')
  await call('getOpenapi')
  await runConsole(recorder, key)
  const tasks = await runVideos(recorder)
  await runAudio(recorder, key)
  await call('completeChat', {
    json: {
      model: 'chat-4o-audio-preview',
      messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
    },
  })
  await call('getReceipt', { path: { id: tasks.completed } })
  await call('getUsage', { query: { group_by: 'model', scope: 'account' } })
  await call('listStatements')
  await call('getStatement', { path: { month: currentMonth() } })
  await call('getOwnAccount', {})
  await call('updateOwnAccount', {
    json: { balance_alert_micros: 20_000_000, spend_alerts: [100_000_000, 500_000_000] },
  })
  const account = await call('createAccountKey', {
    json: { name: 'Uploads', scopes: ['create'], models: ['vidB-2'] },
  })
  const { id } = account['key'] as { id: string }
  await call('listAccountKeys', { query: { limit: '1' } })
  await call('getAccountKey', { path: { id } })
  await call('updateAccountKey', { path: { id }, json: { scopes: ['create', 'read'] } })
  await call('rotateAccountKey', { path: { id }, json: { overlap_seconds: 3_600 } })
  await call('deleteAccountKey', { path: { id } })
  await runWebhooks(recorder)
  return tasks
}
