/** `/openai/v1` is the base URL for the `openai` SDKs: the same operations in the dialect of those SDKs. */
export const openAiBase = '/openai'

export const isUnderOpenAi = (url: string): boolean => url.startsWith(`${openAiBase}/v1/`)

/** The URL of the same operation without that base. */
export const withoutOpenAiBase = (url: string): string => url.slice(openAiBase.length)
