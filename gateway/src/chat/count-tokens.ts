/** Counts tokens in a worker thread, so that loading the tokenizer or counting a long text does not block requests. */
import { createWorkerThread } from '../platform/worker-thread.ts'

export interface CountQuestion {
  texts: string[]
  /** Counting stops at this number. */
  enough: number
}

export interface TokenCounter {
  /** Counts up to `enough`. A larger result is not exact. */
  count: (texts: string[], enough?: number) => Promise<number>
  close: () => Promise<void>
}

export const createTokenCounter = (): TokenCounter => {
  const thread = createWorkerThread<CountQuestion, number>(new URL('count-tokens.thread.ts', import.meta.url))
  return {
    count: (texts, enough = Number.MAX_SAFE_INTEGER) => thread.ask({ texts, enough }),
    close: thread.close,
  }
}
