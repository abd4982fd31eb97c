/** Records the statements of the transactions of this process. */
import pg from 'pg'

export interface RecordedTransactions extends Disposable {
  /** The statements of each committed transaction that contains a text, from `begin` to `commit`. */
  having: (text: string) => string[][]
}

type Query = (this: pg.Client, ...given: unknown[]) => unknown

export const recordTransactions = (): RecordedTransactions => {
  const open = new Map<pg.Client, string[]>()
  const committed: string[][] = []
  const prototype = pg.Client.prototype as unknown as { query: Query }
  const { query } = prototype
  prototype.query = function countedQuery(...given) {
    const [first] = given as [string | { text?: string }]
    const text = (typeof first === 'string' ? first : (first.text ?? '')).replaceAll(/\s+/g, ' ').trim()
    if (/^begin\b/.test(text)) open.set(this, [])
    open.get(this)?.push(text)
    if (/^(commit|rollback)\b/.test(text)) {
      if (text.startsWith('commit')) committed.push(open.get(this) ?? [])
      open.delete(this)
    }
    return query.apply(this, given)
  }
  return {
    having: (text) => committed.filter((statements) => statements.some((each) => each.includes(text))),
    [Symbol.dispose]: () => {
      prototype.query = query
    },
  }
}
