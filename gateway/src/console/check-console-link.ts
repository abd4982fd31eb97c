import type { operations } from '@kinora/contract/operations'
import { ConsoleLinkToken } from '@kinora/contract/operations/console-sessions'

import type { Handler } from '../http/call.ts'
import { presentLinkHolder } from './present-session.ts'
import { checkLink, limitAttempts, type SignInDependencies } from './sign-in.ts'

export const checkConsoleLink =
  (dependencies: SignInDependencies): Handler<typeof operations.checkConsoleLink> =>
  async (call) => {
    const { link } = call.read(ConsoleLinkToken)
    const { holder } = await limitAttempts(dependencies, call, () =>
      checkLink(dependencies, link, call.address),
    )
    return { body: presentLinkHolder(holder) }
  }
