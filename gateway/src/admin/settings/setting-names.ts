/** Settings of providers are written in camel case in the file, and in snake case over this API. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** The same for what is said about them; what is quoted was given, and stays. */
export const snakeCaseIn = (message: string): string =>
  message.replace(/"[^"]*"|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b/g, (found) =>
    found.startsWith('"') ? found : snakeCase(found),
  )
