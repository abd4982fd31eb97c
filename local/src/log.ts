export type Log = (
  event: string,
  fields: Record<string, unknown>,
  /** `info` by default. */
  level?: 'info' | 'warn' | 'error',
) => void
