import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { findSessionRow } from './console-session-store.ts'
import { findCurrentSession } from './current-session.ts'
import { presentSession } from './present-session.ts'
import type { SignInDependencies } from './sign-in.ts'

export const getConsoleSession =
  ({ postgres, authenticate, currency }: SignInDependencies): Handler<typeof operations.getConsoleSession> =>
  async (call) => {
    const holder = await findCurrentSession(authenticate, call)
    const row = await findSessionRow(postgres, holder.session.id)
    if (row === undefined) throw new ApiError('missing_session')
    return { body: presentSession(row, holder, currency) }
  }
