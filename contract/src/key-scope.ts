/** What a customer's key may do. A row of an operation names the scopes that allow it. */
export const keyScopes = ['create', 'read', 'account'] as const
export type KeyScope = (typeof keyScopes)[number]

/** The scopes of a key whose creator names none. */
export const defaultScopes: readonly KeyScope[] = ['create', 'read']
