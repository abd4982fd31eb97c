/** How many tokens texts have. Neither loading the tokenizer's tables nor counting a long text holds anybody up. */
import { createSideThread } from '../platform/worker-thread.ts'

export interface CountQuestion {
  texts: string[]
  /** No need to count further. */
  enough: number
}

export interface TokenCounter {
  /** Counts up to `enough`; more than that may be answered, but not exactly. */
  count: (texts: string[], enough?: number) => Promise<number>
  close: () => Promise<void>
}

export const createTokenCounter = (): TokenCounter => {
  const thread = createSideThread<CountQuestion, number>(new URL('count-tokens.thread.ts', import.meta.url))
  return {
    count: (texts, enough = Number.MAX_SAFE_INTEGER) => thread.ask({ texts, enough }),
    close: thread.close,
  }
}
