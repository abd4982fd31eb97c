/** `/admin/v1/plans`. */
import { Type, type Static } from 'typebox'

import { DeletedResource, ObjectType, optionals, Page, pageQuery, ResourceId, Time } from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency, RequestCurrency, RequestMicros } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'

const planFields = {
  name: Type.String({ maxLength: 200, description: 'Name of the plan.' }),
  cycle_quota_micros: RequestMicros('Amount that one cycle may spend.'),
  cycle_days: Type.Integer({ minimum: 1, maximum: 3660, description: 'Length of a cycle in days.' }),
}

export const PlanBody = Type.Object({ ...planFields, currency: Type.Optional(RequestCurrency) })
export const PlanChange = optionals({ ...planFields, currency: RequestCurrency })

export const Plan = Type.Object({
  id: Type.String({ description: 'Id of the plan.' }),
  object: ObjectType('plan'),
  ...planFields,
  currency: Currency,
  subscribers: Type.Integer({ description: 'Number of accounts that are subscribed to the plan.' }),
  created_at: Time('When the plan was created.'),
})
export type Plan = Static<typeof Plan>

const planId = ResourceId('plan')

export const planOperations = {
  createPlan: {
    id: 'createPlan',
    method: 'POST',
    path: '/admin/v1/plans',
    summary: 'Create a plan',
    description: 'Creates a plan that accounts can be subscribed to.',
    access: 'operator',
    roles: ['finance', 'admin'],
    body: { form: null, json: [PlanBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created plan.', schema: Plan },
    errors: [...errorsOfBodies, 'conflict'],
  },
  listPlans: {
    id: 'listPlans',
    method: 'GET',
    path: '/admin/v1/plans',
    summary: 'List plans',
    description: 'Lists plans with their number of subscribers.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { optionalQuery: pageQuery },
    answer: { description: 'A page of plans.', schema: Page(Plan) },
    errors: ['invalid_parameter'],
  },
  getPlan: {
    id: 'getPlan',
    method: 'GET',
    path: '/admin/v1/plans/{id}',
    summary: 'Get a plan',
    description: 'Returns a plan with its number of subscribers.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: { path: planId },
    answer: { description: 'The plan.', schema: Plan },
    errors: ['resource_not_found'],
  },
  updatePlan: {
    id: 'updatePlan',
    method: 'PATCH',
    path: '/admin/v1/plans/{id}',
    summary: 'Update a plan',
    description:
      'Changes the fields that are present in the body. The change applies to each subscriber from the next cycle.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: planId },
    body: { form: null, json: [PlanChange], sizeBytesMax: mebibyte },
    answer: { description: 'The updated plan.', schema: Plan },
    errors: [...errorsOfBodies, 'resource_not_found', 'conflict'],
  },
  deletePlan: {
    id: 'deletePlan',
    method: 'DELETE',
    path: '/admin/v1/plans/{id}',
    summary: 'Delete a plan',
    description: 'Deletes a plan that has no subscribers.',
    access: 'operator',
    roles: ['finance', 'admin'],
    parameters: { path: planId },
    answer: { description: 'The plan was deleted.', schema: DeletedResource('plan') },
    errors: ['resource_not_found', 'conflict'],
  },
} as const satisfies Record<string, Operation>
