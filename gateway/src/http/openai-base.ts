/** `/openai/v1` is the base URL for the `openai` SDKs: the same operations in the dialect of those SDKs. */
export const openAiBase = '/openai'

export const isUnderOpenAi = (url: string): boolean => url.startsWith(`${openAiBase}/v1/`)

/** The URL of the same operation without that base. */
export const withoutOpenAiBase = (url: string): string => url.slice(openAiBase.length)

/** The path below that base, without the query; undefined for any other URL. */
export const pathUnderOpenAi = (url: string): string | undefined =>
  isUnderOpenAi(url) ? url.slice(`${openAiBase}/v1/`.length).replace(/[?#].*/s, '') : undefined
