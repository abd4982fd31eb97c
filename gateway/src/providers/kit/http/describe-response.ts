import { parseJson } from '../json/lenient-json.ts'

const longestAnswer = 500
/** Enough to fill the note after whatever is taken out of it. */
const longestRead = 16 * 1024
const deepest = 12

/** Members that hold what a caller wrote or is given, or media; an operator's note has none of that. */
const notForOperators =
  /prompt|^(text|content|input|transcript|delta|word|data|bytes\w*|b64\w*|image|audio|instructions|lyrics)$/i

/** The beginning of an answer as an operator may see it. */
export function describeResponse(
  text: string,
  contentType: string | undefined,
  redact: (text: string, longest?: number) => string,
): string {
  const parsed = parseJson(text)
  if (parsed !== undefined) return redact(startOf(JSON.stringify(withoutContent(parsed, 0))), longestAnswer)
  const isText = contentType === undefined || /^text\/|json|xml/i.test(contentType)
  return isText ? redact(startOf(text), longestAnswer) : ''
}

function startOf(text: string): string {
  return text.slice(0, longestRead)
}

function withoutContent(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === deepest) return '…'
  if (Array.isArray(value)) return value.slice(0, 20).map((entry) => withoutContent(entry, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => {
      const isContent = notForOperators.test(name) && isWords(held)
      return [name, isContent ? '…' : withoutContent(held, depth + 1)]
    }),
  )
}

function isWords(held: unknown): boolean {
  return Array.isArray(held) ? held.some((entry) => typeof entry === 'string') : typeof held === 'string'
}
