import { describe, expect, test } from 'vitest'

import { adminOperations } from './admin-operations.ts'
import { errors } from './errors.ts'
import { adminOpenapi, openapi } from './openapi.ts'
import { errorsOf, type Operation } from './operation.ts'
import { operations } from './operations.ts'
import { Quote } from './operations/account.ts'
import { webhookOperations } from './operations/webhooks.ts'
import { adminTags, tags } from './tags.ts'

const described: [string, Operation][] = [...Object.entries(operations), ...Object.entries(adminOperations)]
// Webhook endpoints are only for providers, so no document describes them.
const all: [string, Operation][] = [...described, ...Object.entries(webhookOperations)]

test('ids are unique, and so are pairs of method and path', () => {
  for (const [id, operation] of all) expect(operation.id).toBe(id)
  const places = all.map(([, { method, path }]) => `${method} ${path}`)
  expect(new Set(places).size).toBe(places.length)
})

test.each(all)('%s declares every path parameter, and no error code twice', (_, operation) => {
  const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  expect(Object.keys(operation.parameters?.path ?? {})).toEqual(named)
  expect(new Set(operation.errors).size).toBe(operation.errors.length)
})

test.each(all)('%s has a rate limit exactly if it requires a customer key', (_, operation) => {
  expect(operation.limit !== undefined).toBe(operation.access === 'key')
  const takesKey = operation.access === 'key' || operation.access === 'operator'
  expect(errorsOf(operation).includes('missing_api_key')).toBe(takesKey)
})

test('the OpenAPI document lists every error code of an operation under its status', () => {
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

test('every operation has exactly one tag', () => {
  const tagged = [...tags, ...adminTags].flatMap((tag) => tag.operations.map(({ id }) => id))
  expect(tagged.toSorted()).toEqual(described.map(([id]) => id).toSorted())
})

test('the OpenAPI document is plain JSON', () => {
  const document = openapi('https://videos.example')
  expect(document.servers).toEqual([{ url: 'https://videos.example' }])
  expect(JSON.parse(JSON.stringify(document))).toMatchObject({ openapi: '3.1.0', paths: expect.any(Object) })
})

/** The parts of a JSON schema that this test reads. */
interface Node {
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  anyOf?: Node[]
  oneOf?: Node[]
  allOf?: Node[]
  patternProperties?: Record<string, Node>
  additionalProperties?: Node | boolean
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null

/** Every object inside a schema that contains an amount, with its path. */
const objectsWithAmounts = (node: Node, path: string): [string, Node][] => {
  const { properties = {}, items, patternProperties = {}, additionalProperties } = node
  const inside: [string, unknown][] = [
    ...Object.entries(properties),
    ...Object.entries(patternProperties),
    ['[]', items],
    ['{}', additionalProperties],
    ...[node.anyOf, node.oneOf, node.allOf].flatMap((choices) =>
      (choices ?? []).map((choice): [string, unknown] => ['', choice]),
    ),
  ]
  const hasAmount = Object.keys(properties).some((name) => name.endsWith('_micros'))
  return [
    ...(hasAmount ? [[path, node] satisfies [string, Node]] : []),
    ...inside.flatMap(([name, child]) =>
      isNode(child) ? objectsWithAmounts(child, name === '' ? path : `${path}.${name}`) : [],
    ),
  ]
}

describe('objects with amounts have a currency', () => {
  const answers = all.map(([id, { answer, creates }]): [string, Node[]] => [
    id,
    [answer.schema, answer.events, creates === true ? Quote : undefined].filter(isNode),
  ])
  const bodies = all.map(([id, { body }]): [string, Node[]] => [
    id,
    [...(body?.json ?? []), ...(body?.form ?? [])].filter(isNode),
  ])
  const amountsOf = (id: string, schemas: Node[]) =>
    schemas.flatMap((schema) => objectsWithAmounts(schema, id))

  test('the search finds the known amounts', () => {
    const found = answers.flatMap(([id, schemas]) => amountsOf(id, schemas).map(([path]) => path))
    expect(found).toEqual(
      expect.arrayContaining([
        'getMe.balance',
        'getMe.budgets.[]',
        'getReceipt.lines.[]',
        'getUsage.data.[]',
        'createVideo',
        'listAccounts.data.[].balances.[]',
        'createKey.key.budgets.[]',
        'createTopUp',
        'listPrices.data.[]',
        'getTask.prices.[]',
      ]),
    )
  })

  test.each(answers)('%s returns a currency with every amount', (id, schemas) => {
    const without = amountsOf(id, schemas).flatMap(([path, { required }]) =>
      required?.includes('currency') === true ? [] : path,
    )
    expect(without).toEqual([])
  })

  // A client can send back what it read, and an amount in another currency is rejected instead of misread.
  test.each(bodies)('%s accepts a currency with every amount and requires it nowhere', (id, schemas) => {
    for (const [path, { properties = {}, required = [] }] of amountsOf(id, schemas)) {
      expect(Object.keys(properties), path).toContain('currency')
      expect(required, path).not.toContain('currency')
    }
  })
})
