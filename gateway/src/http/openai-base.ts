/** The openai client has a base address of its own; it is the same service in that client's dialect. */
const base = '/openai'

export const isUnderOpenAi = (url: string): boolean => url.startsWith(`${base}/v1/`)

/** The address of the same operation without that base. */
export const withoutOpenAiBase = (url: string): string => url.slice(base.length)
