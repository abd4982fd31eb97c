/**
 * Reading of JSON that someone else wrote: nothing is assumed about its shape, and a value of the
 * wrong kind reads as absent.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
  } catch {
    return undefined
  }
}

/** The named member of an object; `undefined` for anything that is not an object, and for null members. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined) ?? undefined
}

/** A string with something in it, or a number written out. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** A number, or a string that holds one, with or without a percent sign. */
export function numberOf(value: unknown): number | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  const parsed = Number(text.replace(/\s*%$/, ''))
  return Number.isFinite(parsed) ? parsed : undefined
}
