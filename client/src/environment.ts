/** The settings that the environment gives, in Node, Bun and Deno. */

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

/** The key of another service is never sent here: `OPENAI_API_KEY` counts only together with `OPENAI_BASE_URL`. */
export const readEnvironment = (): Settings => {
  const own = { url: readVariable('KINORA_URL'), apiKey: readVariable('KINORA_API_KEY') }
  const other = { url: readVariable('OPENAI_BASE_URL'), apiKey: readVariable('OPENAI_API_KEY') }
  const isOther = own.url === undefined && other.url !== undefined
  const url = own.url ?? other.url
  const apiKey = own.apiKey ?? (isOther ? other.apiKey : undefined)
  return { ...(url !== undefined && { url }), ...(apiKey !== undefined && { apiKey }) }
}
