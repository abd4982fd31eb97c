// Generated from the code by `npm run generate`. Do not edit.
import { Kinora } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'

declare const process: { env: { KINORA_URL: string; KINORA_API_KEY: string } }

export const createVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const { id } = await kinora.videos.create({
    model: 'vidB-2',
    prompt: 'A whale swims through a calm sea',
    seconds: 4,
    size: '480x480',
    metadata: '{"team":"films"}',
  })
  const video = await kinora.videos.watch(id)
  await video.save('video.mp4')
}

export const getVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.videos.get('vidB-2:1767225600-00000000000001', { wait: 30 }))
}

export const listVideos = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.videos.list()) console.log(item)
}

export const deleteVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.videos.delete('vidB-2:remix-1767225600-00000000000003'))
}

export const cancelVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.videos.cancel('vidA3.1-fast:1767225600-00000000000004'))
}

export const getVideoContent = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const file = await kinora.videos.content('vidB-2:1767225600-00000000000001')
  await file.save('video.mp4')
}

export const followVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const event of kinora.videos.events('vidB-2:1767225600-00000000000001')) console.log(event)
}

export const getVideoTimeline = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.videos.timeline('vidB-2:1767225600-00000000000001'))
}

export const remixVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const { id } = await kinora.videos.remix('vidB-2:1767225600-00000000000001', {
    prompt: 'The same whale at night',
  })
  const video = await kinora.videos.watch(id)
  await video.save('video.mp4')
}

export const editVideo = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const { id } = await kinora.videos.edit({
    prompt: 'The same whale in the rain',
    video: { id: 'vidB-2:1767225600-00000000000001' },
  })
  const video = await kinora.videos.watch(id)
  await video.save('video.mp4')
}

export const createVideoTask = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.videoTasks.create({
    model: 'vidA3.1-fast',
    prompt: 'A paper boat on a river',
    aspect_ratio: '16:9',
  })
  console.log(result)
}

export const queryVideoTask = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.videoTasks.query({ id: 'vidB-2:1767225600-00000000000001' }))
}

export const createCharacter = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.characters.create({
    from_task: 'vidB-2:1767225600-00000000000001',
    timestamps: '0,2',
  })
  console.log(result)
}

export const listCharacters = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.characters.list()) console.log(item)
}

export const getCharacter = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.characters.get('char_00000000-0000-7000-8000-000000000008'))
}

export const renameCharacter = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.characters.rename('char_00000000-0000-7000-8000-000000000008', {
    username: 'red.panda_7',
  })
  console.log(result)
}

export const deleteCharacter = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.characters.delete('char_00000000-0000-7000-8000-000000000008'))
}

export const showCharacter = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.characters.show('red.panda_7'))
}

export const completeChat = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.chat.completions.create({
    model: 'chat-4o-audio-preview',
    messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
  })
  console.log(result)
}

export const listVoices = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.voices.list()) console.log(item)
}

export const getVoiceSample = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const file = await kinora.voices.sample('chat-4o-mini-tts-2025-12-15', 'alloy', {
    expires: '1798761600',
    key: 'k1',
    signature: 'xxxx',
  })
  await file.save('speech.mp3')
}

export const createTranscription = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.transcriptions.create({ model: 'asr-1', file: { path: 'speech.mp3' } }))
}

export const createTranslation = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.translations.create({ model: 'asr-1', file: { path: 'speech.mp3' } }))
}

export const createSpeech = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const file = await kinora.speech.create({
    model: 'chat-4o-mini-tts-2025-12-15',
    input: 'The meeting starts at nine. Please bring the report.',
    voice: 'alloy',
  })
  await file.save('speech.mp3')
}

export const createTranscriptionTask = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.transcriptionTasks.create({ model: 'asr-1', file: { path: 'speech.mp3' } })
  console.log(result)
}

export const listTranscriptionTasks = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.transcriptionTasks.list()) console.log(item)
}

export const getTranscriptionTask = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.transcriptionTasks.get('transcription_00000000-0000-7000-8000-000000000012')
  console.log(result)
}

export const getTranscript = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.transcriptionTasks.transcript('transcription_00000000-0000-7000-8000-000000000012', {
    response_format: 'json',
  })
  console.log(result)
}

export const deleteTranscriptionTask = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.transcriptionTasks.delete('transcription_00000000-0000-7000-8000-000000000012')
  console.log(result)
}

export const getMe = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.me.get())
}

export const getUsage = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.usage.get({ group_by: 'model', scope: 'account' })) console.log(item)
}

export const getReceipt = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.receipts.get('vidB-2:1767225600-00000000000001'))
}

export const getOwnAccount = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.account.get())
}

export const updateOwnAccount = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.account.update({
    balance_alert_micros: 20000000,
    spend_alerts: [100000000, 500000000],
  })
  console.log(result)
}

export const createAccountKey = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.keys.create({ name: 'Uploads', scopes: ['create'], models: ['vidB-2'] }))
}

export const listAccountKeys = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.keys.list()) console.log(item)
}

export const getAccountKey = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.keys.get('00000000-0000-7000-8000-000000000014'))
}

export const updateAccountKey = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.keys.update('00000000-0000-7000-8000-000000000014', {
    scopes: ['create', 'read'],
  })
  console.log(result)
}

export const rotateAccountKey = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.keys.rotate('00000000-0000-7000-8000-000000000014', { overlap_seconds: 3600 })
  console.log(result)
}

export const deleteAccountKey = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.keys.delete('00000000-0000-7000-8000-000000000014'))
}

export const listStatements = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.statements.list()) console.log(item)
}

export const getStatement = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.statements.get('2026-01'))
}

export const listEvents = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.events.list({ type: 'video.completed' })) console.log(item)
}

export const createWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.webhooks.create({
    url: 'https://example.com/webhooks',
    events: ['video.completed', 'video.failed'],
  })
  console.log(result)
}

export const listWebhookEndpoints = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.webhooks.list()) console.log(item)
}

export const getWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.get('00000000-0000-7000-8000-000000000017'))
}

export const updateWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.webhooks.update('00000000-0000-7000-8000-000000000017', {
    name: 'Production',
  })
  console.log(result)
}

export const postWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.webhooks.update('00000000-0000-7000-8000-000000000017', { concurrency: 20 })
  console.log(result)
}

export const deleteWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.delete('00000000-0000-7000-8000-000000000017'))
}

export const rotateWebhookEndpointSecret = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.webhooks.rotateSecret('00000000-0000-7000-8000-000000000017', {
    overlap_seconds: 3600,
  })
  console.log(result)
}

export const testWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.webhooks.test('00000000-0000-7000-8000-000000000017', {
    type: 'video.completed',
  })
  console.log(result)
}

export const redeliverWebhookEndpoint = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.webhooks.redeliver('00000000-0000-7000-8000-000000000017', {
    since: 1767225600,
  })
  console.log(result)
}

export const listWebhookEventTypes = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.webhooks.eventTypes()) console.log(item)
}

export const getWebhookKeys = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.publicKeys())
}

export const listWebhookDeliveries = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.webhooks.deliveries.list()) console.log(item)
}

export const getWebhookDelivery = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.deliveries.get('00000000-0000-7000-8000-000000000018'))
}

export const redeliverWebhookDelivery = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.deliveries.redeliver('00000000-0000-7000-8000-000000000018'))
}

export const listModels = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.models.list()) console.log(item)
}

export const getModel = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.models.get('vidB-2'))
}

export const getMedia = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const file = await kinora.media.get('00000000-0000-7000-8000-000000000002', 'video.mp4', {
    expires: '1798761600',
    key: 'k1',
    signature: 'xxxx',
  })
  await file.save('video.mp4')
}

export const getService = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.service.get())
}

export const getDocs = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.docs.reference())
}

export const getLlms = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.docs.llms())
}

export const getLlmsFull = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.docs.llmsFull())
}

export const getStatus = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.status.get())
}

export const getWebhookSecret = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.secret.get())
}

export const rotateWebhookSecret = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.webhooks.secret.rotate({ overlap_seconds: 3600 }))
}

export const createConsoleSession = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.console.sessions.create({ keys: ['sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'] })
  console.log(result)
}

export const createConsoleLink = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.console.links.create({ keys: ['sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'] })
  console.log(result)
}

export const checkConsoleLink = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await kinora.console.links.check({ link: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' })
  console.log(result)
}

export const getConsoleSession = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.console.session.get())
}

export const deleteConsoleSession = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.console.session.delete())
}

export const listConsoleSessions = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of kinora.console.sessions.list()) console.log(item)
}

export const revokeConsoleSession = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.console.sessions.revoke('00000000-0000-7000-8000-000000000044'))
}

export const getErrorDocs = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.docs.errors())
}

export const getOpenapi = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.docs.openapi())
}

export const createAccount = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.accounts.create({ name: 'Example Studio' }))
}

export const listAccounts = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.accounts.list({ name: 'Example' })) console.log(item)
}

export const getAccount = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.accounts.get('00000000-0000-7000-8000-000000000013'))
}

export const updateAccount = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.accounts.update('00000000-0000-7000-8000-000000000013', {
    spend_cap_micros: 200000000,
  })
  console.log(result)
}

export const eraseAccount = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.accounts.erase('00000000-0000-7000-8000-000000000046'))
}

export const getErasure = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.accounts.erasure('00000000-0000-7000-8000-000000000046'))
}

export const setSubscription = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.accounts.setSubscription('00000000-0000-7000-8000-000000000013', {
    plan_id: '00000000-0000-7000-8000-000000000047',
    ends_at: 1798761600,
  })
  console.log(result)
}

export const endSubscription = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.accounts.endSubscription('00000000-0000-7000-8000-000000000013'))
}

export const createPlan = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.plans.create({ name: 'Studio', cycle_quota_micros: 100000000, cycle_days: 30 })
  console.log(result)
}

export const listPlans = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.plans.list()) console.log(item)
}

export const getPlan = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.plans.get('00000000-0000-7000-8000-000000000047'))
}

export const updatePlan = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.plans.update('00000000-0000-7000-8000-000000000047', {
    cycle_quota_micros: 120000000,
  })
  console.log(result)
}

export const deletePlan = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.plans.delete('00000000-0000-7000-8000-000000000047'))
}

export const createKey = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.keys.create('00000000-0000-7000-8000-000000000013', {
    kind: 'payg',
    name: 'production',
    scopes: ['create', 'read', 'account'],
  })
  console.log(result)
}

export const listKeys = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.keys.list({ account_id: '00000000-0000-7000-8000-000000000013' })) console.log(item)
}

export const getKey = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.keys.get('00000000-0000-7000-8000-000000000005'))
}

export const updateKey = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.keys.update('00000000-0000-7000-8000-000000000005', {
    models: ['vidB-2'],
    quota_micros: 20000000,
  })
  console.log(result)
}

export const rotateKey = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.keys.rotate('00000000-0000-7000-8000-000000000005', { overlap_seconds: 3600 })
  console.log(result)
}

export const deleteKey = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.keys.delete('00000000-0000-7000-8000-000000000005'))
}

export const createOperatorKey = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.operatorKeys.create({ name: 'billing', role: 'finance' }))
}

export const createTopUp = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.accounts.topUp('00000000-0000-7000-8000-000000000013', {
    amount_micros: 50000000,
    reason: 'Invoice paid',
    reference: 'INV-1001',
  })
  console.log(result)
}

export const createAdjustment = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.accounts.adjust('00000000-0000-7000-8000-000000000013', {
    amount_micros: -1000000,
    reason: 'Duplicate top-up',
  })
  console.log(result)
}

export const createRefund = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.receipts.refund('vidB-2:1767225600-00000000000001', {
    amount_micros: 100000,
    reason: 'Flickering video',
    reference: 'TICKET-17',
  })
  console.log(result)
}

export const listMovements = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.accounts.movements('00000000-0000-7000-8000-000000000013')) console.log(item)
}

export const listLedgerEntries = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.ledger.list({ task_id: 'vidB-2:1767225600-00000000000001' })) console.log(item)
}

export const getLedgerAudit = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.ledger.audit())
}

export const runLedgerAudit = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.ledger.runAudit())
}

export const getAnyReceipt = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.receipts.get('vidB-2:1767225600-00000000000001'))
}

export const listAccountStatements = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.accounts.statements('00000000-0000-7000-8000-000000000013')) console.log(item)
}

export const getAccountStatement = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.accounts.statement('00000000-0000-7000-8000-000000000013', '2026-01'))
}

export const listPrices = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.prices.list({ model: 'vidB-2' })) console.log(item)
}

export const setPrice = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.prices.set({ model: 'vidB-2', unit: 'second', unit_micros: 90000 }))
}

export const getOverview = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.overview.get())
}

export const getHealth = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.health.get())
}

export const listProviderProtocols = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.providerProtocols.list()) console.log(item)
}

export const listProviders = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.providers.list()) console.log(item)
}

export const getProvider = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.providers.get('local'))
}

export const setProvider = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.providers.set('vendor', {
    kind: 'openai',
    base_url: 'https://vendor.example/v1',
    api_key: 'vendor-api-key',
    slots: 20,
    budget_per_day_micros: 200000000,
    budget_stops: true,
  })
  console.log(result)
}

export const deleteProvider = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.providers.delete('vendor'))
}

export const resetProviderHealth = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.providers.resetHealth('local'))
}

export const testProvider = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.providers.test('local'))
}

export const listModelKinds = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.models.kinds()) console.log(item)
}

export const listModelEntries = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.models.list()) console.log(item)
}

export const getModelEntry = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.models.get('clip-1'))
}

export const setModelEntry = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.models.set('clip-1', {
    settings: {
      kind: 'video',
      family: 'B',
      seconds: [4, 8],
      sizes: ['1280x720'],
      prices: [
        { unit: 'second', micros: 250000 },
        { unit: 'second', micros: 200000, sound: false },
      ],
      sound: 'optional',
      aliases: { 'sora-2': {} },
      routes: [{ provider: 'local' }],
    },
  })
  console.log(result)
}

export const deleteModelEntry = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.models.delete('clip-1'))
}

export const getModelRoutes = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.models.routes('vidB-2'))
}

export const setModelRoutes = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.models.setRoutes('vidB-2', {
    routes: [{ provider: 'local', order: 1, weight: 1, slots: 2 }],
  })
  console.log(result)
}

export const explainModelRoutes = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.models.explainRoutes('vidB-2', { seconds: 8, size: '1280x720' }))
}

export const deleteModelRoutes = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.models.deleteRoutes('vidB-2'))
}

export const listTasks = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.tasks.list({
    account_id: '00000000-0000-7000-8000-000000000013',
    status: 'failed',
  })) console.log(item)
}

export const getTask = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.tasks.get('vidB-2:1767225600-00000000000001'))
}

export const getTaskOrder = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.tasks.order('vidB-2:1767225600-00000000000001'))
}

export const retryTask = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.tasks.retry('vidA3.1-fast:1767225600-00000000000004'))
}

export const cancelTask = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.tasks.cancel('vidA3.1-fast:1767225600-00000000000054'))
}

export const resolveTask = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const result = await admin.tasks.resolve('vidA3.1-fast:1767225600-00000000000054', { action: 'fail' })
  console.log(result)
}

export const explainTask = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.tasks.explain('vidB-2:1767225600-00000000000001'))
}

export const getTaskTimeline = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.tasks.timeline('vidB-2:1767225600-00000000000001'))
}

export const getTaskContent = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  const file = await admin.tasks.content('vidB-2:1767225600-00000000000001')
  await file.save('video.mp4')
}

export const listRequestErrors = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.requests.errors()) console.log(item)
}

export const getTotalUsage = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.usage.get({
    group_by: 'model',
    account_id: '00000000-0000-7000-8000-000000000013',
  })) console.log(item)
}

export const listRequests = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.requests.list({
    task_id: 'vidB-2:1767225600-00000000000001',
    operation: 'createVideo',
  })) console.log(item)
}

export const getRequest = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.requests.get('req_00000000-0000-7000-8000-000000000006'))
}

export const listAllEvents = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.events.list({
    account_id: '00000000-0000-7000-8000-000000000013',
    type: 'video.completed',
  })) console.log(item)
}

export const listAuditEntries = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  for await (const item of admin.auditLog.list({ action: 'updateSettings' })) console.log(item)
}

export const verifyAuditLog = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.auditLog.verify())
}

export const getSettings = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.settings.get())
}

export const updateSettings = async () => {
  const admin = new KinoraAdmin({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await admin.settings.update({ media_retention_days: 14 }))
}

export const getAdminOpenapi = async () => {
  const kinora = new Kinora({
    baseUrl: process.env.KINORA_URL,
    apiKey: process.env.KINORA_API_KEY,
  })
  console.log(await kinora.docs.openapi())
}
