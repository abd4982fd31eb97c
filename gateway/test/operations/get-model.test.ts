import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem } from '../kit/answers.ts'
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

const read = (id: string, text = key.text, url = gateway.url) => ask(`${url}/v1/models/${id}`, text)

describe('200', () => {
  test('every listed model is returned as in the list', async () => {
    const { body } = await ask(`${gateway.url}/v1/models`, key.text)
    const listed = body['data'] as { id: string }[]
    expect(listed).not.toEqual([])
    for (const model of listed) {
      const answer = await read(model.id)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual(model)
    }
  })

  test('a deprecated model has deprecation headers', async () => {
    const file = join(gateway.directory, 'providers.yaml')
    await writeFile(
      file,
      'models: {vidB-2: {state: deprecated, deprecationDate: 2026-09-09, shutdownDate: 2027-01-01}}',
    )
    await using later = await startGateway({ PROVIDERS_FILE: file }, gateway)
    const answer = await read('vidB-2', key.text, later.url)
    expect(answer.body).toMatchObject({ id: 'vidB-2', shutdown_date: '2027-01-01' })
    expect(answer.headers.get('deprecation')).toBe('@1788912000')
    expect(answer.headers.get('sunset')).toBe('Fri, 01 Jan 2027 00:00:00 GMT')
    const link = /^<(.+)>; rel="deprecation sunset"$/.exec(answer.headers.get('link') ?? '')?.[1]
    expect(link).toMatch(/\/v1\/models\/vidB-2$/)
  })
})

describe('403 model_access_denied', () => {
  test('a model that the key may not use', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: ['vidB-2'] })
    expect((await read('vidB-2', text)).status).toBe(200)
    expectProblem(await read('vidB-2-pro', text), 'model_access_denied', 'model')
  })
})

describe('404 model_not_found', () => {
  test('an unknown model, also for a key without models', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: [] })
    for (const id of ['nonsense', 'VIDB-2', '%00', '__proto__', 'toString']) {
      expectProblem(await read(id), 'model_not_found', 'model')
      expectProblem(await read(id, text), 'model_not_found', 'model')
    }
  })

  test('a retired model, with its successor', async () => {
    const file = join(gateway.directory, 'retired.yaml')
    await writeFile(file, 'models: {vidB-2: {state: retired, successor: vidB-2-pro}}')
    await using later = await startGateway({ PROVIDERS_FILE: file }, gateway)
    const answer = await read('vidB-2', key.text, later.url)
    expectProblem(answer, 'model_not_found', 'model')
    expect(answer.body['error']).toHaveProperty('message', expect.stringContaining('Use vidB-2-pro instead.'))
  })
})
