/** An operator of a gateway. Validates every response against the contract. */
import { adminOperations, type AdminOperationId } from '@kinora/contract/admin-operations'
import { errorsOf, type Operation } from '@kinora/contract/operation'
import Schema from 'typebox/schema'
import { expect } from 'vitest'

import { ask, type Answer } from './answers.ts'
import { createKey, type TestKey } from './factories.ts'
import type { TestGateway } from './start-gateway.ts'

export interface Given {
  /** The path parameters without a value in `path`, whatever their names. */
  id?: string
  path?: Record<string, string>
  query?: Record<string, string | number>
  body?: unknown
}

export interface Operator extends TestKey {
  /** Calls an operation and returns any response. */
  ask: (operation: AdminOperationId, given?: Given) => Promise<Answer>
  /** Calls an operation that must succeed and returns the body. */
  call: (operation: AdminOperationId, given?: Given) => Promise<any>
}

export const fillPath = (template: string, { id = '', path = {} }: Given): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? id))

const expectAsDeclared = (operation: Operation, { status, body }: Answer) => {
  if (status === 200) {
    const { schema } = operation.answer
    if (schema !== undefined) expect(Schema.Errors(schema, body)).toEqual([true, []])
    return
  }
  const { code } = body['error'] as { code: never }
  expect(errorsOf(operation)).toContain(code)
}

export const createOperator = async (
  { url, database }: Pick<TestGateway, 'url' | 'database'>,
  given?: TestKey,
): Promise<Operator> => {
  const key = given ?? (await createKey(database.postgres, '', { kind: 'admin', name: 'night shift' }))
  const askFor: Operator['ask'] = async (name, { id = '', path = {}, query = {}, body } = {}) => {
    const operation: Operation = adminOperations[name]
    const address = new URL(fillPath(operation.path, { id, path }), url)
    for (const [field, value] of Object.entries(query)) address.searchParams.set(field, String(value))
    const answer = await ask(address.href, key.text, {
      method: operation.method,
      ...(operation.body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body ?? {}),
      }),
    })
    expectAsDeclared(operation, answer)
    return answer
  }
  return {
    ...key,
    ask: askFor,
    call: async (name, fields) => {
      const answer = await askFor(name, fields)
      expect(answer.body).not.toHaveProperty('error')
      expect(answer.status).toBe(200)
      return answer.body
    },
  }
}

/** Reads a list to its end in small pages, and runs a callback between pages. */
export const readAll = async (
  operator: Operator,
  operation: AdminOperationId,
  given: Given & { between?: () => Promise<unknown> } = {},
): Promise<any[]> => {
  const found: unknown[] = []
  let cursor: string | null = null
  do {
    const query: Record<string, string | number> = { limit: 2, ...given.query }
    if (cursor !== null) query['cursor'] = cursor
    const page: { data: unknown[]; next: string | null } = await operator.call(operation, { ...given, query })
    expect(page.data.length).toBeLessThanOrEqual(2)
    found.push(...page.data)
    cursor = page.next
    await given.between?.()
  } while (cursor !== null)
  return found
}
