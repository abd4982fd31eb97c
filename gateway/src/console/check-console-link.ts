import type { operations } from '@kinora/contract/operations'
import { ConsoleLinkToken } from '@kinora/contract/operations/console-sessions'

import { isSessionToken } from '../auth/session-token.ts'
import type { Handler } from '../http/call.ts'
import { findLink } from './console-session-store.ts'
import { presentLinkHolder } from './present-session.ts'
import { assertTaken, hashToken, invalidLink, limitAttempts, type SignInDependencies } from './sign-in.ts'

export const checkConsoleLink =
  (dependencies: SignInDependencies): Handler<typeof operations.checkConsoleLink> =>
  async (call) => {
    const { postgres, authenticate, secrets } = dependencies
    const { link } = call.read(ConsoleLinkToken)
    const row = await limitAttempts(dependencies, call, async () => {
      const found = isSessionToken(link) ? await findLink(postgres, hashToken(link, secrets)) : undefined
      if (found === undefined) throw invalidLink()
      assertTaken(await authenticate.signInByHashes(found, call.address), dependencies)
      return found
    })
    return { body: presentLinkHolder(row) }
  }
