import type { operations } from '@kinora/contract/operations'

import { givenId, notFound } from '../admin/given-id.ts'
import type { Handler } from '../http/call.ts'
import { revokeSession } from './console-session-store.ts'
import { findCurrentSession, visibilityOf } from './current-session.ts'
import type { SignInDependencies } from './sign-in.ts'

export const revokeConsoleSession =
  ({
    postgres,
    authenticate,
    audit,
    servesOperators,
  }: SignInDependencies): Handler<typeof operations.revokeConsoleSession> =>
  async (call) => {
    const holder = await findCurrentSession(authenticate, call)
    const id = givenId(call, 'session')
    const actor = holder.operator?.keyId ?? holder.caller?.keyId ?? ''
    const visibility = visibilityOf(holder, { servesOperators })
    await postgres.transaction(async (database) => {
      if (!(await revokeSession(database, id, visibility))) throw notFound('session')
      await audit(
        database,
        { actor, requestId: call.requestId },
        { action: 'revokeConsoleSession', target: id },
      )
    })
    authenticate.forgetSessions()
    return { body: { id, deleted: true } }
  }
