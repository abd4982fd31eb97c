/** Binds operations by which customers change their account, which write to the audit log. */
import type { Operation } from '@kinora/contract/operation'

import type { SelfServiceHandler } from '../account/self-service-call.ts'
import { actorOf, createAuditLog } from '../admin/audit-log/audit.ts'
import type { Config } from '../config.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'

export const createBindSelfService = (server: ApiServer, { AUDIT_SECRETS }: Config) => {
  const auditLog = createAuditLog(AUDIT_SECRETS)
  return <O extends Operation>(operation: O, handler: SelfServiceHandler<O>) =>
    bindOperation(server, operation, (call) =>
      handler({
        ...call,
        audit: (within, change) =>
          auditLog.append(within, { actor: actorOf(call.caller), requestId: call.requestId }, change),
      }),
    )
}
