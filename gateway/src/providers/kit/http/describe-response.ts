import { parseJson } from '../json/lenient-json.ts'

const shownCharactersMax = 500
/** Enough for the shown text after redaction. */
const readCharactersMax = 16 * 1024
const depthMax = 12

/** Members with content of callers or media, which operators must not see. */
const notForOperators =
  /prompt|^(text|content|input|transcript|delta|word|data|bytes\w*|b64\w*|image|audio|instructions|lyrics)$/i

/** Returns the beginning of a response as operators may see it. */
export function describeResponse(
  text: string,
  contentType: string | undefined,
  redact: (text: string, longest?: number) => string,
): string {
  const parsed = parseJson(text)
  if (parsed !== undefined)
    return redact(startOf(JSON.stringify(withoutContent(parsed, 0))), shownCharactersMax)
  const isText = contentType === undefined || /^text\/|json|xml/i.test(contentType)
  return isText ? redact(startOf(text), shownCharactersMax) : ''
}

function startOf(text: string): string {
  return text.slice(0, readCharactersMax)
}

function withoutContent(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === depthMax) return '…'
  if (Array.isArray(value)) return value.slice(0, 20).map((entry) => withoutContent(entry, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => {
      const isContent = notForOperators.test(name) && hasText(held)
      return [name, isContent ? '…' : withoutContent(held, depth + 1)]
    }),
  )
}

function hasText(held: unknown): boolean {
  return Array.isArray(held) ? held.some((entry) => typeof entry === 'string') : typeof held === 'string'
}
