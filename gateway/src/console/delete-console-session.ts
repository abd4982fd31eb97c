import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import { isSessionToken, writeSessionCookie } from '../auth/session-token.ts'
import type { Handler } from '../http/call.ts'
import { deleteSessionByHash } from './console-session-store.ts'
import { hashToken, type SignInDependencies } from './sign-in.ts'

/** Signs out. It needs no key that is still accepted. */
export const deleteConsoleSession =
  ({
    postgres,
    authenticate,
    secrets,
  }: SignInDependencies): Handler<typeof operations.deleteConsoleSession> =>
  async ({ session: { token, isSecure } }) => {
    const headers = { 'set-cookie': writeSessionCookie(undefined, isSecure) }
    const id =
      token !== undefined && isSessionToken(token)
        ? await deleteSessionByHash(postgres, hashToken(token, secrets))
        : undefined
    // Without a session nothing has changed, and anybody can send this.
    if (id === undefined) throw new ApiError('missing_session', { headers })
    authenticate.forgetSessions()
    return { headers, body: { id, deleted: true } }
  }
