/** `GET /`, `/docs`, `/llms.txt` and `/llms-full.txt`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { serviceStates } from './status.ts'

const Url = (description: string) => Type.String({ format: 'uri', description })

export const Service = Type.Object({
  object: ObjectType('service'),
  name: Type.String({ description: 'The name of the software.' }),
  version: Type.String({ description: 'Its version.' }),
  state: Type.String({
    enum: [...serviceStates],
    description: 'The state of the whole service, as in `/status`.',
  }),
  base_url: Url('The base URL of this API.'),
  openai_base_url: Url('The base URL for the `openai` libraries.'),
  docs_url: Url('The API reference.'),
  openapi_url: Url('The OpenAPI document.'),
  llms_url: Url('An overview for language models.'),
  errors_url: Url('The error codes.'),
  status_url: Url('The status of the service.'),
  console_url: Nullable(Url('The web console; null if this instance serves none.')),
})
export type Service = Static<typeof Service>

export const serviceOperations = {
  getService: {
    id: 'getService',
    method: 'GET',
    path: '/',
    summary: 'Show where to begin',
    description:
      'Returns the version and the state of the service, and the URLs to begin with: as JSON, or as an HTML page if `Accept` prefers `text/html`. It needs no key.',
    access: 'none',
    answer: { description: 'The service.', schema: Service, pages: true },
    errors: [],
  },
  getDocs: {
    id: 'getDocs',
    method: 'GET',
    path: '/docs',
    summary: 'Show the API reference',
    description:
      'Returns the API reference as an HTML page if `Accept` prefers `text/html`, else the OpenAPI document, as `/openapi.json` does.',
    access: 'none',
    answer: { description: 'An OpenAPI 3.1 document.', schema: Type.Object({}), pages: true },
    errors: [],
  },
  getLlms: {
    id: 'getLlms',
    method: 'GET',
    path: '/llms.txt',
    summary: 'Get an overview for language models',
    description: 'Returns what the service does and links to its documents, in Markdown.',
    access: 'none',
    answer: { description: 'A Markdown text.', contentType: 'text/plain' },
    errors: [],
  },
  getLlmsFull: {
    id: 'getLlmsFull',
    method: 'GET',
    path: '/llms-full.txt',
    summary: 'Get all documents for language models',
    description: 'Returns the guides and the whole API reference as one text in Markdown.',
    access: 'none',
    answer: { description: 'A Markdown text.', contentType: 'text/plain' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
