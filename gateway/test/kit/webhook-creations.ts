/** Creates of tasks with a webhook, by every operation and in every content type. */
import type { WebhookObject } from '@kinora/contract/webhook-parameters'
import { expect } from 'vitest'

import { dayOfTranscription } from '../../src/transcription-tasks/transcription-id.ts'
import { finishTranscription } from '../../src/transcription-tasks/transcription-task-store.ts'
import { ask, askJson, pixelUri, type Answer } from './answers.ts'
import { completeTask, createAccount, createKey, endTask } from './factories.ts'
import { audioForm, wave } from './sound.ts'
import type { TestGateway } from './start-gateway.ts'

export interface Customer {
  accountId: string
  /** The gateway that knows it. */
  gateway: TestGateway
  key: string
  /** A completed video. */
  sourceId: string
}

const videoOrder = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }

export const createCustomer = async (gateway: TestGateway): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  const { text: key } = await createKey(postgres, accountId, { scopes: ['create', 'read', 'account'] })
  const { body } = await askJson(`${gateway.url}/v1/videos`, key, videoOrder)
  const sourceId = String(body['id'])
  await completeTask(gateway, accountId, sourceId)
  return { accountId, gateway, key, sourceId }
}

export type GivenFields = Record<string, unknown>

/** A list becomes a field with brackets for each item, as client libraries send it. */
const formOf = (fields: GivenFields): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields))
    for (const each of [value].flat()) data.append(Array.isArray(value) ? `${name}[]` : name, String(each))
  return data
}

type SendCreate = (
  by: Customer,
  fields: GivenFields,
  more?: { search?: string; headers?: Record<string, string> },
) => Promise<Answer>

const asJson =
  (path: (by: Customer) => string, order: (by: Customer) => GivenFields): SendCreate =>
  (by, fields, { search = '', headers = {} } = {}) =>
    askJson(`${by.gateway.url}${path(by)}${search}`, by.key, { ...order(by), ...fields }, headers)

const asForm =
  (path: (by: Customer) => string, order: GivenFields): SendCreate =>
  (by, fields, { search = '', headers = {} } = {}) =>
    ask(`${by.gateway.url}${path(by)}${search}`, by.key, {
      method: 'POST',
      headers,
      body: formOf({ ...order, ...fields }),
    })

const videos = () => '/v1/videos'
const remixes = ({ sourceId }: Customer) => `/v1/videos/${sourceId}/remix`
const orderOfFamilyA = {
  ...{ model: 'vidA_3_1', prompt: 'A whale', seconds: '5', size: '16x9' },
  input_reference: pixelUri,
}

export const createVideo = asJson(videos, () => videoOrder)
export const createVideoByForm = asForm(videos, videoOrder)
export const createTranscriptionTask: SendCreate = (by, fields, { search = '', headers = {} } = {}) => {
  const data = audioForm(wave(1), { model: 'asr-1' })
  for (const [name, value] of formOf(fields)) data.append(name, value)
  return ask(`${by.gateway.url}/v1/audio/transcription-tasks${search}`, by.key, {
    method: 'POST',
    headers,
    body: data,
  })
}

export const creations: [name: string, object: WebhookObject, send: SendCreate][] = [
  ['POST /v1/videos as JSON', 'video', createVideo],
  ['POST /v1/videos as a form', 'video', createVideoByForm],
  ['POST /v1/videos of family A', 'video', asForm(videos, orderOfFamilyA)],
  ['POST /openai/v1/videos', 'video', asForm(() => '/openai/v1/videos', videoOrder)],
  [
    'POST /v1/video/create',
    'video',
    asJson(
      () => '/v1/video/create',
      () => ({ model: 'vidA3.1', prompt: 'A whale' }),
    ),
  ],
  ['POST /v1/videos/{id}/remix as JSON', 'video', asJson(remixes, () => ({ prompt: 'At night' }))],
  ['POST /v1/videos/{id}/remix as a form', 'video', asForm(remixes, { prompt: 'At night' })],
  [
    'POST /v1/videos/edits',
    'video',
    asJson(
      () => '/v1/videos/edits',
      ({ sourceId }) => ({ prompt: 'At night', video: { id: sourceId } }),
    ),
  ],
  ['POST /v1/audio/transcription-tasks', 'transcription_task', createTranscriptionTask],
]

/** The id of a created task. */
export const taskOf = ({ status, body }: Answer): string => {
  expect({ status, body: status === 200 ? '' : body }).toEqual({ status: 200, body: '' })
  return String(body['id'])
}

/** A video fails, and a transcription task is completed. */
export const endCreated = async ({ database }: TestGateway, object: WebhookObject, id: string) => {
  const { postgres } = database
  await (object === 'video'
    ? endTask(postgres, id, { kind: 'failed', code: 'upstream_error', message: 'It broke.' })
    : finishTranscription(postgres, dayOfTranscription(id) ?? '', id, { kind: 'completed' }, new Date()))
}

interface TaskEndpoint extends Record<string, unknown> {
  id: string
  url: string
  usedAt: Date
}
export const taskEndpointsOf = async ({ gateway, accountId }: Customer): Promise<TaskEndpoint[]> =>
  (
    await gateway.database.postgres.query<TaskEndpoint>(
      `select id, url, used_at as "usedAt" from webhook_endpoints where account_id = $1 and kind = 'task' order by url`,
      [accountId],
    )
  ).rows

interface Delivery extends Record<string, unknown> {
  accountId: string
  endpointId: string
  url: string
  type: string
  eventId: string
}
export const deliveriesOf = async ({ database }: TestGateway, taskId: string): Promise<Delivery[]> =>
  (
    await database.postgres.query<Delivery>(
      `select account_id as "accountId", endpoint_id as "endpointId", url, type, event_id as "eventId"
         from webhook_deliveries where object_id = $1 order by id`,
      [taskId],
    )
  ).rows
