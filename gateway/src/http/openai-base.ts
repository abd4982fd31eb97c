/** `/openai/v1` is the base URL for the `openai` SDKs: the same operations in the dialect of those SDKs. */
const base = '/openai'

export const isUnderOpenAi = (url: string): boolean => url.startsWith(`${base}/v1/`)

/** The URL of the same operation without that base. */
export const withoutOpenAiBase = (url: string): string => url.slice(base.length)
