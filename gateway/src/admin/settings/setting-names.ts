/** Provider settings use camel case in the configuration file and snake case in this API. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Converts the setting names in a message. Quoted values stay as they are. */
export const snakeCaseIn = (message: string): string =>
  message.replace(/"[^"]*"|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b/g, (found) =>
    found.startsWith('"') ? found : snakeCase(found),
  )
