import { Type } from 'typebox'

import type { Operation } from './operation.ts'
import { accountOperations } from './operations/admin/accounts.ts'
import { auditLogOperations } from './operations/admin/audit-log.ts'
import { eventOperations } from './operations/admin/events.ts'
import { healthOperations } from './operations/admin/health.ts'
import { keyOperations } from './operations/admin/keys.ts'
import { ledgerOperations } from './operations/admin/ledger.ts'
import { modelOperations } from './operations/admin/models.ts'
import { overviewOperations } from './operations/admin/overview.ts'
import { planOperations } from './operations/admin/plans.ts'
import { priceOperations } from './operations/admin/prices.ts'
import { modelKindOperations, providerProtocolOperations } from './operations/admin/provider-protocols.ts'
import { providerOperations } from './operations/admin/providers.ts'
import { requestErrorOperations } from './operations/admin/request-errors.ts'
import { requestOperations } from './operations/admin/requests.ts'
import { settingOperations } from './operations/admin/settings.ts'
import { statementOperations } from './operations/admin/statements.ts'
import { explanationOperations } from './operations/admin/task-explanations.ts'
import { taskTimelineOperations } from './operations/admin/task-timelines.ts'
import { taskOperations } from './operations/admin/tasks.ts'

/** All endpoints of the admin API by operation id. They accept operator keys only. */
export const adminOperations = {
  ...accountOperations,
  ...planOperations,
  ...keyOperations,
  ...ledgerOperations,
  ...statementOperations,
  ...priceOperations,
  ...overviewOperations,
  ...healthOperations,
  ...providerProtocolOperations,
  ...providerOperations,
  ...modelKindOperations,
  ...modelOperations,
  ...taskOperations,
  ...explanationOperations,
  ...taskTimelineOperations,
  ...requestErrorOperations,
  ...requestOperations,
  ...eventOperations,
  ...auditLogOperations,
  ...settingOperations,
  getAdminOpenapi: {
    id: 'getAdminOpenapi',
    method: 'GET',
    path: '/admin/v1/openapi.json',
    summary: 'Get the OpenAPI document of the admin API',
    description: 'Returns this document: the description of the admin API.',
    access: 'none',
    answer: { description: 'An OpenAPI 3.1 document.', schema: Type.Object({}) },
    errors: [],
  },
} as const satisfies Record<string, Operation>

export type AdminOperationId = keyof typeof adminOperations
