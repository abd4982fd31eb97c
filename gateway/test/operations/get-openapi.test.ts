import { errors } from '@kinora/contract/errors'
import { errorsOf, queryOfEveryCreate, type Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

interface Described {
  operationId: string
  security: object[]
  parameters: { name: string; in: string; required: boolean }[]
  requestBody?: { content: Record<string, unknown> }
  responses: Record<string, { description: string; content: Record<string, unknown> }>
}
interface Document {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Described>>
  components: Record<'schemas' | 'headers' | 'securitySchemes', Record<string, unknown>>
}

let gateway: TestGateway
let document: Document

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example/' })
  const answer = await ask(`${gateway.url}/openapi.json`, undefined)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  document = answer.body as unknown as Document
})
afterAll(() => gateway[Symbol.asyncDispose]())

const described = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

describe('200', () => {
  test('is an OpenAPI 3.1 document with this URL, readable without a key', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/)
    expect(document.servers).toEqual([{ url: 'https://videos.example' }])
  })

  test('lists exactly the existing operations', () => {
    const listed = described().map(
      ({ path, method, operation }) => `${method.toUpperCase()} ${path} ${operation.operationId}`,
    )
    const known = Object.values(operations).map(({ id, method, path }) => `${method} ${path} ${id}`)
    expect(listed.toSorted()).toEqual(known.toSorted())
  })

  test('describes every parameter of a path, every body and every error of each operation', () => {
    for (const { path, operation } of described()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const declared = operation.parameters
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name)
      expect(declared).toEqual(named)
      const known: Operation = operations[operation.operationId as keyof typeof operations]
      const ofCreates = known.creates === true ? [...Object.keys(queryOfEveryCreate), 'Idempotency-Key'] : []
      const optional = [...Object.keys(known.parameters?.optionalQuery ?? {}), ...ofCreates]
      expect(operation.parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(ofCreates))
      for (const { name, required } of operation.parameters) expect(required).toBe(!optional.includes(name))
      const statuses = new Set(['200', ...errorsOf(known).map((code) => String(errors[code].status))])
      expect(new Set(Object.keys(operation.responses))).toEqual(statuses)
      for (const { description } of Object.values(operation.responses)) expect(description).not.toBe('')
      expect(operation.security).toEqual(known.access === 'key' ? [{ key: [] }] : [])
    }
    expect(Object.keys(document.paths['/v1/videos']?.['post']?.requestBody?.content ?? {})).toEqual([
      'multipart/form-data',
      'application/json',
    ])
  })

  test('has no dangling reference', () => {
    const references = [
      ...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(schemas|headers)\/([\w-]+)"/g),
    ]
    expect(references.length).toBeGreaterThan(0)
    for (const [, kind = '', name] of references)
      expect(Object.keys(document.components[kind as 'schemas' | 'headers'])).toContain(name)
    expect(JSON.stringify(document).match(/"\$ref"/g)).toHaveLength(references.length)
  })

  test('describes responses correctly', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres)
    const { text } = await createKey(postgres, accountId)
    const expectAsDescribed = (path: string, method: string, status: number, body: unknown) => {
      const content = document.paths[path]?.[method]?.responses[status]?.content['application/json']
      const { schema } = content as { schema: { $ref?: string } }
      const name = schema.$ref?.split('/').at(-1)
      const resolved = name === undefined ? schema : document.components.schemas[name]
      expect(Schema.Errors(resolved as object, body)).toEqual([true, []])
    }
    const familyB = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }
    const familyA = {
      model: 'vidA_3_1',
      prompt: 'A whale',
      seconds: 5,
      size: '16x9',
      input_reference: pixelUri,
    }
    for (const order of [familyA, familyB]) {
      const ids: string[] = []
      for (let index = 0; index < 3; index += 1) {
        const created = await askJson(`${gateway.url}/v1/videos`, text, order)
        expectAsDescribed('/v1/videos', 'post', 200, created.body)
        ids.push(String(created.body['id']))
      }
      await completeTask(gateway, accountId, String(ids[1]))
      await endTask(postgres, String(ids[2]), { kind: 'failed', code: 'task_timeout', message: 'Late.' })
      for (const id of ids) {
        for (const dialect of ['reference', 'openai']) {
          const read = await ask(`${gateway.url}/v1/videos/${id}`, text, {
            headers: { 'x-api-dialect': dialect },
          })
          expectAsDescribed('/v1/videos/{id}', 'get', 200, read.body)
        }
      }
    }
    const missing = await ask(`${gateway.url}/v1/videos/nonsense`, text)
    expectAsDescribed('/v1/videos/{id}', 'get', 404, missing.body)
    expectAsDescribed('/v1/models', 'get', 200, (await ask(`${gateway.url}/v1/models`, text)).body)
    expectAsDescribed(
      '/v1/models/{id}',
      'get',
      200,
      (await ask(`${gateway.url}/v1/models/vidB-2`, text)).body,
    )
  })
})
