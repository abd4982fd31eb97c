export type Log = (
  event: string,
  fields: Record<string, unknown>,
  /** `info` where it is not given. */
  level?: 'info' | 'warn' | 'error',
) => void
