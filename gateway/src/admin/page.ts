/**
 * Cursor pagination. A cursor contains the position of the last item, so a growing list neither repeats nor skips items.
 * It also contains the name of its list, so that a cursor of another list is rejected.
 */
import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'

/** Validates one part of a cursor. */
export type Form = Pick<RegExp, 'test'>

export const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Any number that the database stores. */
export const digits = /^\d{1,15}$/
/** A date in ISO format. */
export const day: Form = {
  test: (text) => {
    const at = new Date(`${text}T00:00:00Z`)
    return (
      /^[1-9]\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
    )
  },
}
export const microseconds = /^\d{1,16}$/
export const milliseconds = /^\d{1,14}$/
/** The id of a task or a request. */
export const idText = /^[\x21-\x7e]{1,200}$/

const cursorOf = (list: string, position: (string | number)[]): string =>
  Buffer.from(JSON.stringify([list, ...position.map(String)])).toString('base64url')

const parse = (text: string): unknown => {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/** The position in the cursor, validated by `forms`; undefined for the first page. */
export const readCursor = (
  { query }: Pick<Call, 'query'>,
  list: string,
  forms: Form[],
): string[] | undefined => {
  const { cursor } = query
  if (cursor === undefined) return undefined
  const found = parse(cursor)
  if (Array.isArray(found)) {
    const [name, ...parts] = found as unknown[]
    const texts = parts.flatMap((part, index) =>
      typeof part === 'string' && forms[index]?.test(part) === true ? part : [],
    )
    if (name === list && parts.length === forms.length && texts.length === forms.length) return texts
  }
  throw new ApiError('invalid_parameter', {
    param: 'cursor',
    message: "'cursor' must be the `next` value of an earlier page of this list.",
  })
}

/** The number of rows to read: one more than the page size, to detect that there are more. */
export const rowsFor = ({ query }: Pick<Call, 'query'>): number => Number(query['limit']) + 1

export const pageOf = <Row, Item>(
  { query }: Pick<Call, 'query'>,
  list: string,
  rows: Row[],
  present: (row: Row) => Item,
  positionOf: (row: Row) => (string | number)[],
): { object: 'list'; data: Item[]; next: string | null } => {
  const shown = rows.slice(0, Number(query['limit']))
  const last = shown.at(-1)
  const hasMore = rows.length > shown.length && last !== undefined
  return { object: 'list', data: shown.map(present), next: hasMore ? cursorOf(list, positionOf(last)) : null }
}
