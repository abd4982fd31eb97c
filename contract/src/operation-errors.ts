/** What a create may answer beside what its parameters can get wrong. */
export const errorsOfSpending = [
  'subscription_expired',
  'quota_exceeded',
  'payment_failed',
  'insufficient_balance',
] as const
export const errorsOfBodies = [
  'invalid_request',
  'request_too_large',
  'missing_parameter',
  'invalid_parameter',
] as const
