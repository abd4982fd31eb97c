import { expect, test } from 'vitest'

import { adminOperations } from './admin-operations.ts'
import { errors } from './errors.ts'
import { newsOperations } from './news-operations.ts'
import { adminOpenapi, openapi } from './openapi.ts'
import { errorsOf, type Operation } from './operation.ts'
import { operations } from './operations.ts'

const described: [string, Operation][] = [...Object.entries(operations), ...Object.entries(adminOperations)]
// Providers are told their addresses; nobody else needs a description of them.
const all: [string, Operation][] = [...described, ...Object.entries(newsOperations)]

test('an operation is known by its id, and no two answer one method of one path', () => {
  for (const [id, operation] of all) expect(operation.id).toBe(id)
  const places = all.map(([, { method, path }]) => `${method} ${path}`)
  expect(new Set(places).size).toBe(places.length)
})

test.each(all)('%s declares every parameter of its path, and its codes once each', (_, operation) => {
  const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  expect(Object.keys(operation.parameters?.path ?? {})).toEqual(named)
  expect(new Set(operation.errors).size).toBe(operation.errors.length)
})

test.each(all)("%s is limited where it takes a customer's key, and nowhere else", (_, operation) => {
  expect(operation.limit !== undefined).toBe(operation.access === 'key')
  const takesKey = operation.access === 'key' || operation.access === 'operator'
  expect(errorsOf(operation).includes('missing_api_key')).toBe(takesKey)
})

test('the description names every code of an operation under its status', () => {
  const paths = { ...openapi().paths, ...adminOpenapi().paths }
  for (const [, operation] of described) {
    const shown = paths[operation.path]?.[operation.method.toLowerCase()] as {
      responses: Record<string, { description: string }>
    }
    for (const code of errorsOf(operation)) {
      expect(shown.responses[errors[code].status]?.description).toContain(
        `\`${code}\`: ${errors[code].message}`,
      )
    }
  }
})

test('the description is plain JSON', () => {
  const document = openapi('https://videos.example')
  expect(document.servers).toEqual([{ url: 'https://videos.example' }])
  expect(JSON.parse(JSON.stringify(document))).toMatchObject({ openapi: '3.1.0', paths: expect.any(Object) })
})
