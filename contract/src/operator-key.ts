/** The roles of operator keys. A row of an admin operation names those that may call it. */
export const operatorRoles = ['read', 'support', 'finance', 'admin'] as const
export type OperatorRole = (typeof operatorRoles)[number]

/** How long an operator key is valid if its creator sets no expiry. */
export const operatorKeyDays = 90

/** How the text of an operator key begins, and that of no other key. */
export const operatorKeyPrefix = 'sk-admin-'
