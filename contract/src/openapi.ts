import type { TSchema } from 'typebox'

import { errors, type ErrorCode } from './errors.ts'
import { errorsOf, type Operation } from './operation.ts'
import { operations } from './operations.ts'

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

const parametersOf = ({ parameters }: Operation) => {
  const listed = (schemas: Record<string, TSchema> = {}, where: 'path' | 'query', required: boolean) =>
    Object.entries(schemas).map(([name, schema]) => ({ name, in: where, required, schema }))
  return [
    ...listed(parameters?.path, 'path', true),
    ...listed(parameters?.query, 'query', true),
    ...listed(parameters?.optionalQuery, 'query', false),
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

const contentOf = ({ answer }: Operation) => ({
  [answer.contentType ?? 'application/json']: {
    schema: answer.schema ?? { type: 'string', format: 'binary' },
  },
  ...(answer.texts === true && { 'text/plain': { schema: { type: 'string' } } }),
  ...(answer.events && { 'text/event-stream': { schema: answer.events } }),
})

const describe = (operation: Operation) => ({
  operationId: operation.id,
  summary: operation.summary,
  security: operation.access === 'key' ? [{ key: [] }] : [],
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

/** The OpenAPI 3.1 document, derived from the operations table. */
export const openapi = (serverUrl = '/') => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of Object.values(operations)) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Kinora',
      version: '0.1.0',
      description: 'Media generation over one API.',
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
