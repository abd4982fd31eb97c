import type { Operation } from '@kinora/contract/operation'

import type { Auditing } from '../admin/admin-call.ts'
import type { Call, Handler } from '../http/call.ts'

/** Handles an operation by which a customer changes their account. It writes to the audit log. */
export type SelfServiceHandler<O extends Operation> = (
  call: Call<O> & Pick<Auditing, 'audit'>,
) => ReturnType<Handler<O>>
