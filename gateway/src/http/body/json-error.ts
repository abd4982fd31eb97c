/** Tells where a body stops being JSON. `JSON.parse` does not always tell, and its messages quote the body. */
import { ApiError } from '@kinora/contract/errors'

/** In longer bodies the place is not searched, because that takes longer than parsing. */
const searchedCharactersMax = 64 * 1024

const whitespace = /[ \t\n\r]*/y
// Everything but control characters, quotes and backslashes, or an escape sequence.
const name = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/uy
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literal = /true|false|null/y

/** The index of the first character that cannot be there, or the length of the text if it ends too early. */
export const findJsonError = (text: string): number | undefined => {
  const open: ('{' | '[')[] = []
  let at = 0
  const lengthOf = (token: RegExp): number => {
    token.lastIndex = at
    return token.exec(text)?.[0].length ?? 0
  }
  /** Moves behind a string; returns false, at the place of the error, if it is not one. */
  const takeString = (): boolean => {
    at += lengthOf(name)
    if (text[at] !== '"') return false
    at += 1
    return true
  }
  let expected: 'value' | 'valueOrEnd' | 'name' | 'nameOrEnd' | 'colon' | 'commaOrEnd' = 'value'
  const close = (): void => {
    open.pop()
    at += 1
    expected = 'commaOrEnd'
  }
  for (;;) {
    at += lengthOf(whitespace)
    const character = text[at]
    const inside = open.at(-1)
    if (expected === 'commaOrEnd') {
      if (inside === undefined) return at < text.length ? at : undefined
      if (character === ',') {
        at += 1
        expected = inside === '{' ? 'name' : 'value'
      } else if (character === (inside === '{' ? '}' : ']')) close()
      else return at
    } else if (expected === 'name' || expected === 'nameOrEnd') {
      if (expected === 'nameOrEnd' && character === '}') close()
      else if (character === '"' && takeString()) expected = 'colon'
      else return at
    } else if (expected === 'colon') {
      if (character !== ':') return at
      at += 1
      expected = 'value'
    } else if (expected === 'valueOrEnd' && character === ']') close()
    else if (character === '{' || character === '[') {
      open.push(character)
      at += 1
      expected = character === '{' ? 'nameOrEnd' : 'valueOrEnd'
    } else if (character === '"') {
      if (!takeString()) return at
      expected = 'commaOrEnd'
    } else {
      const length = lengthOf(number) || lengthOf(literal)
      if (length === 0) return at
      at += length
      expected = 'commaOrEnd'
    }
  }
}

const placeOf = (text: string, at: number): string => {
  const lines = text.slice(0, at).split('\n')
  return `line ${lines.length}, column ${[...(lines.at(-1) ?? '')].length + 1}`
}

const explain = (text: string): string => {
  if (text.trim() === '') return 'The body is empty. Send a JSON object.'
  const at = text.length > searchedCharactersMax ? undefined : findJsonError(text)
  if (at === undefined) return 'The body is not valid JSON.'
  const [character] = text.slice(at)
  return character === undefined
    ? `The body is not valid JSON: it ends too early, at ${placeOf(text, at)}.`
    : `The body is not valid JSON: unexpected ${JSON.stringify(character).replace(/^"(.*)"$/, "'$1'")} at ${placeOf(text, at)}.`
}

/** The error of a body that is not JSON. `text` is the whole body, if it is in memory. */
export const notJson = (text?: string, cause?: unknown): ApiError =>
  new ApiError('invalid_request', {
    message: text === undefined ? 'The body is not valid JSON.' : explain(text),
    cause,
  })
