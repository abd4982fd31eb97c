import type { TSchema } from 'typebox'

import { errors, mayRetry, type ErrorCode } from './errors.ts'
import { examples } from './examples.ts'
import { errorsOf, idempotencyKeyCharactersMax, queryOfEveryCreate, type Operation } from './operation.ts'
import { Quote } from './operations/account.ts'
import { headersAt, responseHeaders, type HeaderPlace } from './response-headers.ts'
import { codeSamplesOf } from './samples/samples.ts'
import { adminTags, tags, type Tag } from './tags.ts'

const errorObject = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      description: 'The error.',
      required: ['message', 'type', 'code', 'hint', 'doc_url', 'request_id'],
      properties: {
        message: { type: 'string', description: 'What is wrong, as a sentence for people.' },
        type: { type: 'string', description: 'The class of errors that the code belongs to.' },
        code: { type: 'string', description: 'What is wrong, as a code for programs.' },
        param: { type: 'string', description: 'The invalid or missing parameter, if there is one.' },
        hint: { type: 'string', description: 'How to fix errors with this code, as a sentence for people.' },
        doc_url: { type: 'string', description: 'The section of this code on the page of error codes.' },
        request_id: {
          type: 'string',
          description: 'The id of the request, as in `x-request-id`. Operators find the request by it.',
        },
      },
    },
  },
}

const oneOf = (schemas: TSchema[]) => (schemas.length === 1 ? schemas[0] : { oneOf: schemas })

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A unique key for this request. If the same request is sent again with the same key, the stored response is returned.',
  schema: { type: 'string', minLength: 1, maxLength: idempotencyKeyCharactersMax },
}

/** A query parameter whose members come as `name[member]`. */
const deepObject = { type: 'object', additionalProperties: { type: 'string' } }

const parametersOf = ({ id, parameters, creates }: Operation) => {
  const listed = (schemas: Record<string, TSchema> = {}, where: 'path' | 'query', required: boolean) =>
    Object.entries(schemas).map(([name, given]) => {
      const {
        description,
        'x-deep-object': isDeep,
        ...schema
      } = given as {
        description?: string
        'x-deep-object'?: boolean
      }
      const example = examples[id]?.request.parameters[name]
      return {
        ...{ name, in: where, required, description },
        ...(isDeep === true
          ? { style: 'deepObject', explode: true, schema: deepObject }
          : { schema, ...(example !== undefined && { example }) }),
      }
    })
  return [
    ...listed(parameters?.path, 'path', true),
    ...listed(parameters?.query, 'query', true),
    ...listed(parameters?.optionalQuery, 'query', false),
    ...(creates === true ? [...listed(queryOfEveryCreate, 'query', false), idempotencyKey] : []),
  ]
}

type Content = Record<string, { schema: unknown }>

/** Adds the recorded example to the content type that it was recorded with. */
const withExample = (
  content: Content,
  { contentType, body }: { contentType?: string; body?: unknown } = {},
) =>
  Object.fromEntries(
    Object.entries(content).map(([type, media]) => {
      const isRecorded = type === contentType || (type === 'audio/*' && contentType?.startsWith('audio/'))
      return [type, isRecorded ? { ...media, examples: { recorded: { value: body } } } : media]
    }),
  )

const bodyOf = ({ id, body }: Operation) =>
  body && {
    required: true,
    content: withExample(
      {
        ...(body.form && { 'multipart/form-data': { schema: oneOf(body.form) } }),
        ...(body.json && { 'application/json': { schema: oneOf(body.json) } }),
      },
      examples[id]?.request,
    ),
  }

const headersIn = (...places: HeaderPlace[]) => ({
  headers: Object.fromEntries(
    headersAt('every', ...places).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  ),
})

const usesModel = (operation: Operation) => operation.errors.includes('model_not_found')

/** A webhook of a provider is counted only if its signature is invalid, and a health check apart. */
const isCounted = ({ access }: Operation) => access === 'key' || access === 'operator'

const errorResponses = (operation: Operation) => {
  const codesByStatus = Map.groupBy(errorsOf(operation), (code) => errors[code].status)
  const response = (codes: ErrorCode[]) => ({
    description: codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
    ...headersIn('error', ...(codes.some(mayRetry) ? (['retry'] as const) : [])),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  })
  return Object.fromEntries(
    [...codesByStatus].toSorted(([a], [b]) => a - b).map(([status, codes]) => [status, response(codes)]),
  )
}

const contentOf = ({ answer, creates }: Operation): Content => ({
  ...(creates === true && { 'application/json': { schema: Quote } }),
  [answer.contentType ?? 'application/json']: {
    schema:
      creates === true && answer.schema !== undefined
        ? { anyOf: [answer.schema, Quote] }
        : (answer.schema ?? { type: 'string', format: 'binary' }),
  },
  ...(answer.texts === true && { 'text/plain': { schema: { type: 'string' } } }),
  ...(answer.pages === true && { 'text/html': { schema: { type: 'string' } } }),
  ...(answer.events && { 'text/event-stream': { schema: answer.events } }),
})

const codes = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')

const accessTextOf = (operation: Operation): string => {
  if (operation.access === 'operator') return ` Roles: ${codes(operation.roles)}.`
  return operation.access === 'key' ? ` Scopes: ${codes(operation.scopes)}.` : ''
}

const describe = (operation: Operation, tag: Tag) => ({
  operationId: operation.id,
  tags: [tag.name],
  summary: operation.summary,
  description: operation.description + accessTextOf(operation),
  security: operation.access === 'key' || operation.access === 'operator' ? [{ key: [] }] : [],
  parameters: parametersOf(operation),
  ...(operation.body && { requestBody: bodyOf(operation) }),
  responses: {
    200: {
      description: operation.answer.description,
      ...headersIn(
        ...(isCounted(operation) ? (['counted'] as const) : []),
        ...(usesModel(operation) ? (['model'] as const) : []),
      ),
      content: withExample(contentOf(operation), examples[operation.id]?.response),
    },
    ...errorResponses(operation),
  },
  'x-codeSamples': codeSamplesOf(operation, examples[operation.id]),
})

const documentOf = (
  documentTags: Tag[],
  about: { title: string; description: string },
  serverUrl: string,
) => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const tag of documentTags) {
    for (const operation of tag.operations) {
      paths[operation.path] = {
        ...paths[operation.path],
        [operation.method.toLowerCase()]: describe(operation, tag),
      }
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
    tags: documentTags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: { Error: errorObject },
      headers: Object.fromEntries(
        headersAt('every', 'counted', 'error', 'retry', 'model').map((name) => [
          name,
          { description: responseHeaders[name].description, schema: { type: 'string' } },
        ]),
      ),
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** `/` stands for an address that is not known. */
const introduction = (serverUrl: string) => {
  const url = serverUrl === '/' ? 'https://…' : serverUrl
  return `One API in front of many providers of generated media.

Send your API key as \`Authorization: Bearer sk-…\`. The code beside each operation reads two variables:

\`\`\`sh
export KINORA_URL=${url}
export KINORA_API_KEY=sk-…
\`\`\`

The commands use the address and the key of \`kinora login\`. The official \`openai\` libraries use the base URL \`${url}/openai/v1\`.`
}

/** The OpenAPI 3.1 document of the public API. */
export const openapi = (serverUrl = '/') =>
  documentOf(tags, { title: 'Kinora', description: introduction(serverUrl) }, serverUrl)

/** The OpenAPI 3.1 document of the admin API. */
export const adminOpenapi = (serverUrl = '/') =>
  documentOf(
    adminTags,
    {
      title: 'Kinora admin API',
      description: 'Accounts, keys, balances, prices, providers and tasks of an instance.',
    },
    serverUrl,
  )
