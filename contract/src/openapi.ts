import type { TSchema } from 'typebox'

import { errors, type ErrorCode } from './errors.ts'
import { errorsOf, idempotencyKeyCharactersMax, queryOfEveryCreate, type Operation } from './operation.ts'
import { operations } from './operations.ts'
import { Quote } from './operations/account.ts'
import { adminOperations } from './operations/admin-operations.ts'

const errorObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'code'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        code: { type: 'string' },
        param: { type: 'string', description: 'The offending parameter, where there is one.' },
      },
    },
  },
}

const oneOf = (schemas: TSchema[]) => (schemas.length === 1 ? schemas[0] : { oneOf: schemas })

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'A name for this request: a repeat under the same name is answered with the first reply.',
  schema: { type: 'string', minLength: 1, maxLength: idempotencyKeyCharactersMax },
}

const parametersOf = ({ parameters, creates }: Operation) => {
  const listed = (schemas: Record<string, TSchema> = {}, where: 'path' | 'query', required: boolean) =>
    Object.entries(schemas).map(([name, schema]) => ({ name, in: where, required, schema }))
  return [
    ...listed(parameters?.path, 'path', true),
    ...listed(parameters?.query, 'query', true),
    ...listed(parameters?.optionalQuery, 'query', false),
    ...(creates === true ? [...listed(queryOfEveryCreate, 'query', false), idempotencyKey] : []),
  ]
}

const bodyOf = ({ body }: Operation) =>
  body && {
    required: true,
    content: {
      ...(body.form && { 'multipart/form-data': { schema: oneOf(body.form) } }),
      ...(body.json && { 'application/json': { schema: oneOf(body.json) } }),
    },
  }

const errorAnswers = (operation: Operation) => {
  const codesByStatus = Map.groupBy(errorsOf(operation), (code) => errors[code].status)
  const answer = (codes: ErrorCode[]) => ({
    description: codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  })
  return Object.fromEntries(
    [...codesByStatus].toSorted(([a], [b]) => a - b).map(([status, codes]) => [status, answer(codes)]),
  )
}

const contentOf = ({ answer, creates }: Operation) => ({
  ...(creates === true && { 'application/json': { schema: Quote } }),
  [answer.contentType ?? 'application/json']: {
    schema:
      creates === true && answer.schema !== undefined
        ? { anyOf: [answer.schema, Quote] }
        : (answer.schema ?? { type: 'string', format: 'binary' }),
  },
  ...(answer.texts === true && { 'text/plain': { schema: { type: 'string' } } }),
  ...(answer.events && { 'text/event-stream': { schema: answer.events } }),
})

const describe = (operation: Operation) => ({
  operationId: operation.id,
  summary: operation.summary,
  security: operation.access === 'key' || operation.access === 'operator' ? [{ key: [] }] : [],
  parameters: parametersOf(operation),
  ...(operation.body && { requestBody: bodyOf(operation) }),
  responses: {
    200: {
      description: operation.answer.description,
      content: contentOf(operation),
    },
    ...errorAnswers(operation),
  },
})

const documentOf = (
  table: Record<string, Operation>,
  about: { title: string; description: string },
  serverUrl: string,
) => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of Object.values(table)) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      ...about,
      version: '0.1.0',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    paths,
    components: {
      schemas: { Error: errorObject },
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** The OpenAPI 3.1 document, derived from the operations table. */
export const openapi = (serverUrl = '/') =>
  documentOf(operations, { title: 'Kinora', description: 'Media generation over one API.' }, serverUrl)

/** The same of what operators may do. */
export const adminOpenapi = (serverUrl = '/') =>
  documentOf(
    adminOperations,
    {
      title: 'Kinora for operators',
      description: 'Accounts, keys, money, prices and providers of an instance.',
    },
    serverUrl,
  )
