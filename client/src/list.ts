/** Lists: the first page as a promise, all items as an iterator. */

/** `await` gives the first page; `for await` gives every item, and reads further pages as they are needed. */
export type List<Page, Item> = Promise<Page> & AsyncIterable<Item>

/** The three kinds of pages: by the last id, by a cursor, and of events, whose cursor never ends. */
interface AnyPage {
  data: unknown[]
  has_more?: boolean
  last_id?: string | null
  next?: string | null
}

/** The parameters of the page after this one; undefined after the last page. */
const findNext = ({ has_more, last_id, next }: AnyPage): Record<string, string> | undefined => {
  if (has_more === undefined) return typeof next === 'string' ? { cursor: next } : undefined
  const after = next ?? last_id
  return has_more && typeof after === 'string' ? { after } : undefined
}

export const createList = <Page, Item>(
  readPage: (params: Record<string, string>) => Promise<Page>,
): List<Page, Item> => {
  const first = readPage({})
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      for (let page = (await first) as AnyPage; ;) {
        yield* page.data as Item[]
        const next = findNext(page)
        if (next === undefined) return
        page = (await readPage(next)) as AnyPage
      }
    },
  })
}
