/** One request for every error code. Parts that a code needs to be down or wrong are really down or wrong. */
import { createHash, randomUUID } from 'node:crypto'

import type { ErrorCode } from '@kinora/contract/errors'

import { createKeyText } from '../../src/auth/key-text.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createLinkSigner } from '../../src/storage/signed-link.ts'
import { ask, askJson, form, type Answer } from './answers.ts'
import { completeTask, createAccount, createKey, endTask, linkSecret, subscribe } from './factories.ts'
import { createOperator } from './operator.ts'
import { audioForm, wave, waveOf } from './sound.ts'
import { startGateway, startProxy } from './start-gateway.ts'
import { startVendorGateway, type VendorGateway } from './vendor-gateway.ts'
import { startWebhookGateway } from './webhook-gateway.ts'

export interface ErrorTriggers extends AsyncDisposable {
  gateway: VendorGateway
  triggers: Record<ErrorCode, () => Promise<Answer>>
}

const mebibyte = 1_048_576
const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const speech = { model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello', voice: 'alloy' }

export const createErrorTriggers = async (): Promise<ErrorTriggers> => {
  const gateway = await startVendorGateway()
  const { url, database } = gateway
  const { postgres } = database
  const accountId = await createAccount(postgres)
  const { text: key } = await createKey(postgres, accountId)
  const operator = await createOperator(gateway)

  const create = (text = key, more: object = {}, headers: Record<string, string> = {}) =>
    askJson(`${url}/v1/videos`, text, { ...order, ...more }, headers)
  const createFor = async (traits: Parameters<typeof createKey>[2], balance = 1000): Promise<Answer> => {
    const account = await createAccount(postgres, { balance })
    return create((await createKey(postgres, account, traits)).text)
  }
  const speak = (more: object, text = key, at = url) =>
    askJson(`${at}/v1/audio/speech`, text, { ...speech, ...more })
  const chat = (content: string) =>
    askJson(`${url}/v1/chat/completions`, key, {
      model: 'chat-4o-audio-preview',
      messages: [{ role: 'user', content }],
    })
  const transcribe = (file: Buffer) =>
    ask(`${url}/v1/audio/transcriptions`, key, { method: 'POST', body: audioForm(file, { model: 'asr-1' }) })
  const createTask = async () => String((await create()).body['id'])
  const completed = async (options?: Parameters<typeof completeTask>[3]) => {
    const id = await createTask()
    return { id, ...(await completeTask(gateway, accountId, id, options)) }
  }
  const failed = async () => {
    const id = await createTask()
    await endTask(postgres, id, { kind: 'failed', code: 'upstream_error', message: 'It broke.' })
    return id
  }
  const read = (path: string, init?: RequestInit) => ask(`${url}${path}`, key, init)
  const link = (mediaId: string, seconds = 3_600) =>
    url + createLinkSigner([new Secret(linkSecret)], '', seconds).link(mediaId, 'video.mp4')

  const triggers: ErrorTriggers['triggers'] = {
    missing_api_key: () => ask(`${url}/v1/models`, undefined),
    invalid_api_key: () => ask(`${url}/v1/models`, createKeyText('payg')),
    expired_api_key: () => createFor({ expiresAt: new Date(Date.now() - 60_000) }),
    missing_session: () => ask(`${url}/console/v1/session`, undefined),
    invalid_signature: async () => {
      await using webhooks = await startWebhookGateway()
      const taskId = await webhooks.create()
      await webhooks.submitted(taskId, 'job-1')
      return await webhooks.deliver({ ...webhooks.webhookOf(taskId, 'job-1'), body: '{}' })
    },
    quota_exceeded: async () => {
      const account = await createAccount(postgres)
      const { id, text } = await createKey(postgres, account)
      await operator.call('updateKey', { id, body: { quota_micros: 0 } })
      return create(text)
    },
    insufficient_balance: () => createFor({}, 0),
    subscription_expired: () => createFor({ kind: 'subscription' }),
    payment_failed: async () => {
      const account = await createAccount(postgres, { balance: 0 })
      await operator.call('updateAccount', { id: account, body: { payment_state: 'failed' } })
      return create((await createKey(postgres, account)).text)
    },
    access_denied: () => ask(`${url}/admin/v1/accounts`, key),
    insufficient_scope: () => createFor({ scopes: ['read'] }),
    model_access_denied: () => createFor({ models: ['vidA_3_1'] }),
    ip_not_allowed: () => createFor({ addresses: ['192.0.2.1'] }),
    account_suspended: async () => {
      const account = await createAccount(postgres)
      await operator.call('updateAccount', { id: account, body: { status: 'suspended' } })
      return create((await createKey(postgres, account)).text)
    },
    audio_requires_payg: async () => {
      await using strict = await startGateway({ AUDIO_REQUIRES_PAYG: 'true' }, gateway)
      const account = await createAccount(postgres)
      await subscribe(postgres, account)
      const { text } = await createKey(postgres, account, { kind: 'subscription' })
      return await speak({}, text, strict.url)
    },
    model_not_found: () => create(key, { model: 'vidB-3' }),
    endpoint_not_found: () => read('/v1/vidoes'),
    host_not_allowed: async () => {
      await using other = await startGateway(
        { ALLOWED_HOSTS: 'media.example', PUBLIC_URL: 'https://media.example' },
        gateway,
      )
      return await ask(`${other.url}/v1/models`, key)
    },
    task_not_found: () => read('/v1/videos/vidB-2:1700000000-00aaaaaaaaaaaa'),
    character_not_found: () => read(`/vidB/v1/characters/${randomUUID()}`),
    resource_not_found: () => operator.ask('getAccount', { id: randomUUID() }),
    variant_not_available: async () => read(`/v1/videos/${(await completed()).id}/content?variant=thumbnail`),
    media_not_found: () => ask(`${url}/media/nonsense/video.mp4?expires=1&signature=x`, undefined),
    method_not_allowed: () => read('/v1/models', { method: 'DELETE' }),
    link_expired: async () => ask(link((await completed()).mediaId, -1), undefined),
    media_expired: async () => {
      const { id } = await completed({ expiresAt: new Date(Date.now() - 1_000) })
      return read(`/v1/videos/${id}/content`)
    },
    invalid_request: () =>
      askJson(`${url}/v1/videos`, key, '{\n  "model": "vidB-2",\n  "prompt": A whale\n}'),
    invalid_parameter: () => create(key, { seconds: 7 }),
    missing_parameter: () => askJson(`${url}/v1/videos`, key, { model: 'vidB-2' }),
    task_not_completed: async () => read(`/v1/videos/${await createTask()}/content`),
    task_failed: async () => read(`/v1/videos/${await failed()}/content`),
    context_length_exceeded: () => chat('word '.repeat(130_000)),
    output_length_exceeded: () => speak({ input: 'vendor:reject=max_output_tokens' }),
    invalid_image: () => {
      const input_reference = new Blob(['not an image'])
      const fields = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480', input_reference }
      return ask(`${url}/v1/videos`, key, { method: 'POST', body: form(fields) })
    },
    voice_not_supported: () => speak({ voice: 'nobody' }),
    invalid_file_format: () => transcribe(Buffer.from('not a recording')),
    content_policy_violation: () => speak({ input: 'vendor:moderated' }),
    task_not_failed: async () => operator.ask('retryTask', { id: await createTask() }),
    idempotency_key_reused: async () => {
      const headers = { 'idempotency-key': randomUUID() }
      await create(key, {}, headers)
      return create(key, { seconds: 8 }, headers)
    },
    request_in_progress: async () => {
      const [first, second] = [randomUUID(), randomUUID()]
      await create(key, {}, { 'idempotency-key': first })
      // The claim of another process that has not completed this request.
      await postgres.query(
        `insert into idempotency_keys (account_id, name, operation, fingerprint, expires_at)
         select account_id, $2, operation, fingerprint, now() + interval '10 minutes'
           from idempotency_keys where name = $1`,
        [first, second].map((text) => createHash('sha256').update(text).digest()),
      )
      return create(key, {}, { 'idempotency-key': second })
    },
    // The provider of the gateway's own configuration file.
    conflict: () => operator.ask('deleteProvider', { id: 'vendor' }),
    file_too_large: () => transcribe(waveOf(Buffer.alloc(25 * mebibyte))),
    request_too_large: () =>
      askJson(`${url}/v1/audio/speech`, key, { ...speech, input: 'a'.repeat(2 * mebibyte) }),
    range_not_satisfiable: async () =>
      ask(link((await completed()).mediaId), undefined, { headers: { range: 'bytes=5000-' } }),
    rate_limit_exceeded: async () => {
      const { text } = await createKey(postgres, accountId, { requestsPerMinute: 1 })
      await create(text)
      return create(text)
    },
    internal_error: async () => {
      await using broken = await startGateway()
      const owner = await createAccount(broken.database.postgres)
      const { text } = await createKey(broken.database.postgres, owner)
      await broken.database.postgres.query('drop table media cascade')
      return await ask(`${broken.url}/v1/videos/vidB-2:1700000000-00aaaaaaaaaaaa`, text)
    },
    upstream_error: async () => {
      gateway.vendor.faults.down = true
      try {
        return await transcribe(wave(1))
      } finally {
        gateway.vendor.faults.down = false
      }
    },
    service_unavailable: async () => {
      await using proxy = await startProxy(database.url)
      await using behind = await startGateway({ DATABASE_URL: proxy.url }, gateway)
      await proxy.cut()
      const answer = await ask(`${behind.url}/v1/models`, key)
      await proxy.mend()
      return answer
    },
    model_overloaded: () => speak({ input: 'vendor:busy' }),
  }
  return { gateway, triggers, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}
