/** The statements of any account. */
import { Page, ResourceId } from '../../fields.ts'
import type { Operation } from '../../operation.ts'
import { monthPath, Statement, StatementMonth, statementQuery } from '../statements.ts'

const accountId = ResourceId('account')

export const statementOperations = {
  listAccountStatements: {
    id: 'listAccountStatements',
    method: 'GET',
    path: '/admin/v1/accounts/{id}/statements',
    summary: 'List the statements of an account',
    description: 'Lists the months in which money of the account moved, newest first.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: accountId },
    answer: { description: 'The months. There is always a single page.', schema: Page(StatementMonth) },
    errors: ['resource_not_found'],
  },
  getAccountStatement: {
    id: 'getAccountStatement',
    method: 'GET',
    path: '/admin/v1/accounts/{id}/statements/{month}',
    summary: 'Get the statement of an account for a month',
    description:
      'Returns what the customer gets from `GET /v1/statements/{month}`: the opening balance, the movements and the closing balance of each wallet.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: { ...accountId, ...monthPath }, optionalQuery: statementQuery },
    answer: { description: 'The statement.', schema: Statement, texts: true, pages: true },
    errors: ['invalid_parameter', 'resource_not_found'],
  },
} as const satisfies Record<string, Operation>
