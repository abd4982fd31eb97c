import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { ConsoleSessionBody } from '@kinora/contract/operations/console-sessions'

import { createSessionToken, writeSessionCookie } from '../auth/session-token.ts'
import type { Handler } from '../http/call.ts'
import { deleteSessionByHash, findSessionRow, insertSession, takeLink } from './console-session-store.ts'
import { presentSession } from './present-session.ts'
import {
  assertTaken,
  checkLink,
  hashToken,
  heldKeysOf,
  invalidLink,
  limitAttempts,
  type SignInDependencies,
} from './sign-in.ts'

const userAgentCharactersMax = 300

export const createConsoleSession =
  (dependencies: SignInDependencies): Handler<typeof operations.createConsoleSession> =>
  async (call) => {
    const { postgres, authenticate, secrets, currency, audit } = dependencies
    const { keys: texts, link } = call.read(ConsoleSessionBody)
    const { address, requestId, session: earlier } = call
    const findKeys = async () =>
      link === undefined
        ? assertTaken(await authenticate.signIn(texts ?? [], address), dependencies)
        : (await checkLink(dependencies, link, address)).keys
    if ((texts === undefined) === (link === undefined))
      throw new ApiError('invalid_parameter', {
        param: link === undefined ? 'keys' : 'link',
        message: "Send either 'keys' or 'link'.",
      })
    const token = createSessionToken()
    const [hash] = hashToken(token, secrets)
    const row = await limitAttempts(dependencies, call, async () => {
      const keys = await findKeys()
      return postgres.transaction(async (database) => {
        // In the transaction, so that an error leaves the link valid.
        if (link !== undefined && !(await takeLink(database, hashToken(link, secrets)))) throw invalidLink()
        if (earlier.token !== undefined)
          await deleteSessionByHash(database, hashToken(earlier.token, secrets))
        const id = await insertSession(database, {
          ...heldKeysOf(keys),
          hash,
          address,
          userAgent: call.header('user-agent')?.slice(0, userAgentCharactersMax) ?? null,
        })
        const inserted = await findSessionRow(database, id)
        if (keys.operatorKey !== undefined)
          await audit(
            database,
            { actor: keys.operatorKey.id, requestId },
            { action: 'createConsoleSession', target: id },
          )
        return inserted
      })
    })
    authenticate.forgetSessions()
    if (row === undefined) throw new ApiError('missing_session')
    const holder = await authenticate.session({
      ...{ authorization: undefined, apiKey: undefined },
      ...{ session: token, address },
    })
    return {
      headers: { 'set-cookie': writeSessionCookie(token, earlier.isSecure) },
      body: presentSession(row, holder, currency),
    }
  }
