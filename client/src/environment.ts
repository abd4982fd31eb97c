/** The settings that the environment gives where the program does not, in Node, Bun and Deno. */

interface Settings {
  url?: string
  apiKey?: string
}

/** Deno throws if the program may not read a variable. */
const readVariable = (name: string): string | undefined => {
  try {
    const value = globalThis.process?.env?.[name]
    return value === '' ? undefined : value
  } catch {
    return undefined
  }
}

/** OpenAI itself has another API, and gets no key and no prompt. */
const isOpenAi = (url: string) => /^(https?:\/\/)?[^/]*\bopenai\.com([:/]|$)/i.test(url)

/** An address and its key belong together: neither is combined with one that was given elsewhere. */
export const readEnvironment = (given: { baseUrl?: string; apiKey?: string }): Settings => {
  const own = {
    url: given.baseUrl ?? readVariable('KINORA_URL'),
    apiKey: given.apiKey ?? readVariable('KINORA_API_KEY'),
  }
  const other = { url: readVariable('OPENAI_BASE_URL'), apiKey: readVariable('OPENAI_API_KEY') }
  const isOther = own.url === undefined && own.apiKey === undefined && other.url !== undefined
  const { url, apiKey } = isOther && !isOpenAi(other.url ?? '') ? other : own
  return { ...(url !== undefined && { url }), ...(apiKey !== undefined && { apiKey }) }
}
