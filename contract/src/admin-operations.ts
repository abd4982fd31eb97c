import { Type } from 'typebox'

import type { Operation } from './operation.ts'
import { accountOperations } from './operations/admin/accounts.ts'
import { auditLogOperations } from './operations/admin/audit-log.ts'
import { eventOperations } from './operations/admin/events.ts'
import { healthOperations } from './operations/admin/health.ts'
import { keyOperations } from './operations/admin/keys.ts'
import { ledgerOperations } from './operations/admin/ledger.ts'
import { modelOperations } from './operations/admin/models.ts'
import { planOperations } from './operations/admin/plans.ts'
import { priceOperations } from './operations/admin/prices.ts'
import { providerOperations } from './operations/admin/providers.ts'
import { requestOperations } from './operations/admin/requests.ts'
import { settingOperations } from './operations/admin/settings.ts'
import { statementOperations } from './operations/admin/statements.ts'
import { explanationOperations } from './operations/admin/task-explanations.ts'
import { taskOperations } from './operations/admin/tasks.ts'

/** All endpoints of the admin API by operation id. They accept operator keys only. */
export const adminOperations = {
  ...accountOperations,
  ...planOperations,
  ...keyOperations,
  ...ledgerOperations,
  ...statementOperations,
  ...priceOperations,
  ...healthOperations,
  ...providerOperations,
  ...modelOperations,
  ...taskOperations,
  ...explanationOperations,
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
