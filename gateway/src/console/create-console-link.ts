import type { operations } from '@kinora/contract/operations'
import { ConsoleLinkBody } from '@kinora/contract/operations/console-sessions'

import { secondsOf } from '../admin/unix-time.ts'
import { createSessionToken } from '../auth/session-token.ts'
import type { Handler } from '../http/call.ts'
import { insertLink } from './console-session-store.ts'
import { assertTaken, hashToken, heldKeysOf, limitAttempts, type SignInDependencies } from './sign-in.ts'

export interface ConsolePlaces {
  publicUrl: string
  /** Differs from `publicUrl` if the admin API has a server of its own. */
  adminUrl: string
}

export const createConsoleLink =
  (
    dependencies: SignInDependencies,
    { publicUrl, adminUrl }: ConsolePlaces,
  ): Handler<typeof operations.createConsoleLink> =>
  async (call) => {
    const { postgres, authenticate, secrets } = dependencies
    const { keys: texts } = call.read(ConsoleLinkBody)
    const keys = await limitAttempts(dependencies, call, async () =>
      assertTaken(await authenticate.signIn(texts, call.address), dependencies),
    )
    const token = createSessionToken()
    const [hash] = hashToken(token, secrets)
    const expiresAt = await insertLink(postgres, hash, heldKeysOf(keys))
    const url = keys.key === undefined ? adminUrl : publicUrl
    return {
      body: {
        object: 'console.link',
        url: `${url}/console/sign-in#link=${token}`,
        expires_at: secondsOf(expiresAt),
      },
    }
  }
