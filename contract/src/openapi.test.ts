import Schema from 'typebox/schema'
import { describe, expect, test } from 'vitest'

import { adminOperations } from './admin-operations.ts'
import { examples, type Example } from './examples.ts'
import { adminOpenapi, openapi } from './openapi.ts'
import type { Operation } from './operation.ts'
import { operations } from './operations.ts'

interface Parameter {
  name: string
  description?: string
}
interface Described {
  operationId: string
  summary?: string
  description?: string
  parameters: Parameter[]
  requestBody?: { content: Record<string, { schema: unknown }> }
  responses: Record<string, { description?: string; content: Record<string, { schema: unknown }> }>
}

const described = [openapi(), adminOpenapi()].flatMap(({ paths }) =>
  Object.values(paths).flatMap((methods) =>
    Object.values(methods).map((operation): [string, Described] => [
      (operation as Described).operationId,
      operation as Described,
    ]),
  ),
)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isSentence = (text: unknown) => typeof text === 'string' && /\S/.test(text)

/** The paths of all properties inside a schema that have no description. */
const undescribed = (schema: unknown, path: string): string[] => {
  if (Array.isArray(schema)) return schema.flatMap((each) => undescribed(each, path))
  if (!isObject(schema)) return []
  return Object.entries(schema).flatMap(([name, value]) => {
    if (name !== 'properties' || !isObject(value)) return undescribed(value, path)
    return Object.entries(value).flatMap(([property, inner]) => [
      ...(isObject(inner) && isSentence(inner['description']) ? [] : [`${path}.${property}`]),
      ...undescribed(inner, `${path}.${property}`),
    ])
  })
}

describe('every part of an operation has a description', () => {
  test.each(described)('%s', (id, { summary, description, parameters, requestBody, responses }) => {
    expect(summary).toMatch(/^[A-Z]\S* .*[^.]$/)
    expect(description).toMatch(/^[A-Z].*\.$/)
    const bare = parameters.filter((parameter) => !isSentence(parameter.description))
    expect(bare.map(({ name }) => name)).toEqual([])
    for (const response of Object.values(responses)) expect(isSentence(response.description)).toBe(true)
    const schemas = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
    expect(schemas.flatMap((content) => undescribed(content, id))).toEqual([])
  })

  test('the error object too', () => {
    expect(undescribed(openapi().components, 'components')).toEqual([])
  })

  test('the search finds nested properties without a description', () => {
    const nested = {
      type: 'object',
      properties: { list: { type: 'array', items: { properties: { a: {} } } } },
    }
    expect(undescribed({ anyOf: [nested] }, 'body')).toEqual(['body.list', 'body.list.a'])
  })
})

const all: [string, Operation][] = [...Object.entries(operations), ...Object.entries(adminOperations)]

const exampleOf = (id: string): Example =>
  examples[id] ?? { request: { parameters: {} }, response: { contentType: '', body: undefined } }

const problemsOf = (schemas: object[], value: unknown) =>
  schemas.some((schema) => Schema.Check(schema, value))
    ? []
    : schemas.map((schema) => Schema.Errors(schema, value))

describe('every operation has a recorded example that is valid', () => {
  test('and no other operation has one', () => {
    expect(Object.keys(examples).toSorted()).toEqual(all.map(([id]) => id).toSorted())
  })

  test.each(all)('%s: the request', (id, { parameters, body }) => {
    const { request } = exampleOf(id)
    const declared = { ...parameters?.path, ...parameters?.query, ...parameters?.optionalQuery }
    expect(Object.keys(declared)).toEqual(expect.arrayContaining(Object.keys(request.parameters)))
    const required = { ...parameters?.path, ...parameters?.query }
    expect(Object.keys(request.parameters)).toEqual(expect.arrayContaining(Object.keys(required)))
    expect(request.body !== undefined).toBe(body !== undefined)
    if (body === undefined) return
    const schemas = (request.contentType === 'application/json' ? body.json : body.form) ?? []
    expect(problemsOf(schemas, request.body)).toEqual([])
  })

  test.each(all)('%s: the response', (id, { answer }) => {
    const { contentType, body } = exampleOf(id).response
    if (contentType === 'application/json') {
      expect(problemsOf(answer.schema === undefined ? [] : [answer.schema], body)).toEqual([])
      return
    }
    expect(typeof body).toBe('string')
    const events = [...String(body).matchAll(/^data: (.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as unknown,
    )
    expect(events.length > 0).toBe(contentType === 'text/event-stream')
    for (const event of events)
      expect(problemsOf(answer.events === undefined ? [] : [answer.events], event)).toEqual([])
  })

  test('the OpenAPI documents show them', () => {
    const text = JSON.stringify([openapi(), adminOpenapi()])
    expect(text.match(/"recorded":/g)).toHaveLength(
      all.length + all.filter(([, { body }]) => body !== undefined).length,
    )
  })
})
