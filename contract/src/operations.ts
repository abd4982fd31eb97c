import { Type } from 'typebox'

import type { Operation } from './operation.ts'
import { accountOperations } from './operations/account.ts'
import { audioOperations } from './operations/audio.ts'
import { characterOperations } from './operations/characters.ts'
import { chatOperations } from './operations/chat.ts'
import { consoleSessionOperations } from './operations/console-sessions.ts'
import { eventOperations } from './operations/events.ts'
import { accountKeyOperations } from './operations/keys.ts'
import { mediaOperations } from './operations/media.ts'
import { modelOperations } from './operations/models.ts'
import { ownAccountOperations } from './operations/own-account.ts'
import { remixOperations } from './operations/remixes.ts'
import { serviceOperations } from './operations/service.ts'
import { statementOperations } from './operations/statements.ts'
import { statusOperations } from './operations/status.ts'
import { transcriptionTaskOperations } from './operations/transcription-tasks.ts'
import { videoTaskOperations } from './operations/video-tasks.ts'
import { videoTimelineOperations } from './operations/video-timelines.ts'
import { videoOperations } from './operations/videos.ts'
import { webhookDeliveryOperations } from './operations/webhook-deliveries.ts'
import { webhookEndpointOperations } from './operations/webhook-endpoints.ts'
import { webhookSecretOperations } from './operations/webhook-secret.ts'

/** All endpoints of the public API by operation id. */
export const operations = {
  ...videoOperations,
  ...videoTimelineOperations,
  ...remixOperations,
  ...videoTaskOperations,
  ...characterOperations,
  ...chatOperations,
  ...audioOperations,
  ...transcriptionTaskOperations,
  ...accountOperations,
  ...ownAccountOperations,
  ...accountKeyOperations,
  ...statementOperations,
  ...eventOperations,
  ...webhookEndpointOperations,
  ...webhookDeliveryOperations,
  ...modelOperations,
  ...mediaOperations,
  ...serviceOperations,
  ...statusOperations,
  ...webhookSecretOperations,
  ...consoleSessionOperations,
  getErrorDocs: {
    id: 'getErrorDocs',
    method: 'GET',
    path: '/docs/errors',
    summary: 'Show the error codes',
    description:
      'Returns an HTML page that explains every error code. The `doc_url` of an error is the address of its section.',
    access: 'none',
    answer: { description: 'An HTML page.', contentType: 'text/html' },
    errors: [],
  },
  getOpenapi: {
    id: 'getOpenapi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'Get the OpenAPI document',
    description: 'Returns this document: the description of the public API.',
    access: 'none',
    answer: { description: 'An OpenAPI 3.1 document.', schema: Type.Object({}) },
    errors: [],
  },
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations
