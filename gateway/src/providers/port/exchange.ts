import { AsyncLocalStorage } from 'node:async_hooks'

/** One provider call as shown to operators: without hosts, keys, accounts and content of callers. */
export interface Exchange {
  /** The name of the call: "submit", "poll". */
  what: string
  method: string
  /** Relative to the base URL, without the query. */
  path: string
  /** Undefined if there was no response. */
  status: number | undefined
  ms: number
  /** The beginning of the response, or the reason why there was none, redacted. */
  answer: string
}

const listener = new AsyncLocalStorage<(exchange: Exchange) => void>()

/** Records an exchange with the listener of the surrounding `withExchanges`, so that adapters need not pass it along. */
export const noteExchange = (exchange: Exchange): void => listener.getStore()?.(exchange)

/** Calls `note` for every provider exchange during `work`. */
export const withExchanges = <Result>(
  note: (exchange: Exchange) => void,
  work: () => Promise<Result>,
): Promise<Result> => listener.run(note, work)
