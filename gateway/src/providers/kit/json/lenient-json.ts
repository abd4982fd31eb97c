/** Reads JSON of vendors without assumptions about its shape; a value of the wrong type reads as absent. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
  } catch {
    return undefined
  }
}

/** Returns a member of an object; undefined for null members and for anything that is not an object. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined) ?? undefined
}

/** Returns a non-empty string; numbers are converted. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Returns a number, also from a string, with or without a percent sign. */
export function numberOf(value: unknown): number | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  const parsed = Number(text.replace(/\s*%$/, ''))
  return Number.isFinite(parsed) ? parsed : undefined
}
