import type { Call } from '../http/call.ts'

/** Whether the caller's client library expects the members that only its own service has. */
export const speaksOpenAi = ({ header, caller }: Pick<Call, 'header' | 'caller'>): boolean =>
  (header('x-api-dialect') ?? caller.dialect) === 'openai'
