import { isKinoraError } from '@kinora/client'

/** The message of the field that the service refused; none if the error is about something else. */
export const findFieldError = (error: unknown, names: readonly string[]): Record<string, string> => {
  if (!isKinoraError(error) || error.param === undefined) return {}
  const path = error.param.replace(/^settings\./, '')
  const name = names.find(
    (each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`),
  )
  return name === undefined ? {} : { [name]: error.message }
}
