import { ApiError } from '@kinora/contract/errors'
import type { RolesOfOperation } from '@kinora/contract/operation'

import type { Operator } from './caller.ts'

/** Refuses an operator whose role is not one of these. */
export const assertRole = ({ role }: Pick<Operator, 'role'>, roles: RolesOfOperation): void => {
  if (roles.some((each) => each === role)) return
  const allowed = [roles.slice(0, -1).join(', '), 'admin'].filter((part) => part !== '').join(' or ')
  throw new ApiError('access_denied', {
    message: `This requires an operator key with the role ${allowed}. This key has the role ${role}.`,
  })
}
