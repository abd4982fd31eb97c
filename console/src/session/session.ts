/** Who is signed in, and what they may do. */
import { isKinoraError } from '@kinora/client'
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'

import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'

export type Session = Awaited<ReturnType<typeof kinora.console.session.get>>

/** `null` without a session. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    try {
      return await kinora.console.session.get()
    } catch (error) {
      if (isKinoraError(error) && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** The session of a screen behind the sign-in. */
export const useSession = (): Session => {
  const { data } = useSuspenseQuery(sessionQuery)
  if (data === null) throw new Error('This screen needs a session.')
  return data
}

export type Scope = 'create' | 'read' | 'account'
export type Role = 'read' | 'support' | 'finance' | 'admin'

/** Whether the customer's key of the session has this scope. */
export const hasScope = ({ key }: Session, scope: Scope): boolean => key?.scopes.includes(scope) ?? false

/** Whether the operator's key of the session has one of these roles. `admin` may do everything. */
export const hasRole = ({ operator }: Session, ...roles: Role[]): boolean =>
  operator !== null && [...roles, 'admin'].includes(operator.role)

export const signOut = async (): Promise<void> => {
  await kinora.console.session.delete()
  queryClient.clear()
  location.assign('/console/sign-in')
}
