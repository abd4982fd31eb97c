import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem, form, pixel } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const familyB = { model: 'vidB-2', prompt: 'A whale at sunset', seconds: '4', size: '1280x720' }
const familyA = { model: 'vidA_3_1', prompt: 'A whale at sunset', seconds: '5', size: '16x9', input_reference: pixel }

const create = (fields: Record<string, string | Blob>, text = key.text) =>
  ask(`${gateway.url}/v1/videos`, text, { method: 'POST', body: form(fields) })

describe('200', () => {
  test('a family B form is accepted as pending, with its own id shape', async () => {
    const answer = await create(familyB)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^vidB-2:\d{10}-[0-9A-Za-z]{14}$/),
      object: 'video',
      model: 'vidB-2',
      status: 'pending',
      progress: 0,
      created_at: expect.closeTo(Date.now() / 1000, -1),
      seconds: 4,
      size: '1280x720',
    })
  })

  test('a family A form with its picture is accepted as queued', async () => {
    const answer = await create(familyA)
    expect(answer.body).toMatchObject({
      id: expect.stringMatching(/^video_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      status: 'queued',
      seconds: 5,
      size: '16x9',
    })
  })
})

describe('400 invalid_request', () => {
  test('malformed JSON', async () => {
    const answer = await ask(`${gateway.url}/v1/videos`, key.text, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":',
    })
    expectProblem(answer, 'invalid_request')
  })
})
