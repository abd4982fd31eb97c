import type { Authenticate, SessionHolder } from '../auth/authenticate.ts'
import type { Call } from '../http/call.ts'
import type { Visibility } from './console-session-store.ts'
import type { SignInDependencies } from './sign-in.ts'

/** The session of a request's cookie; a key in a header has no effect on the operations on sessions. */
export const findCurrentSession = async (
  authenticate: Authenticate,
  { session, address }: Pick<Call, 'session' | 'address'>,
): Promise<SessionHolder> =>
  authenticate.session({ authorization: undefined, apiKey: undefined, session: session.token, address })

/**
 * A customer's key with the scope `account` manages its account, and every other key itself. An administrator manages
 * everything where the admin API is served, and nowhere else.
 */
export const visibilityOf = (
  { caller, operator }: SessionHolder,
  { servesOperators }: Pick<SignInDependencies, 'servesOperators'>,
): Visibility => ({
  isEverything: servesOperators && operator?.role === 'admin',
  accountId: caller?.scopes.includes('account') === true ? caller.accountId : undefined,
  keyIds: [caller?.keyId, operator?.keyId].filter((id) => id !== undefined),
})
