import type { Call } from '../http/call.ts'

/** Whether responses contain the additional fields that OpenAI client libraries expect. */
export const speaksOpenAi = ({ header, caller }: Pick<Call, 'header' | 'caller'>): boolean =>
  (header('x-api-dialect') ?? caller.dialect) === 'openai'
