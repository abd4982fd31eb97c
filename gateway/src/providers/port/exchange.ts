import { AsyncLocalStorage } from 'node:async_hooks'

/** One call to a provider as its operator may see it: no address, no key, no account, nothing of the caller's. */
export interface Exchange {
  /** Which call it was: "submit", "check". */
  what: string
  method: string
  /** Below the provider's base address, without a query. */
  path: string
  /** Undefined where no answer came. */
  status: number | undefined
  ms: number
  /** The beginning of the answer or the reason why there was none, with everything secret taken out. */
  answer: string
}

const listener = new AsyncLocalStorage<(exchange: Exchange) => void>()

/** Called for every exchange. Who wants to know of them is somewhere up the call, and adapters need not carry it along. */
export const noteExchange = (exchange: Exchange): void => listener.getStore()?.(exchange)

/** Does some work and hands every exchange with a provider that it takes to `note`. */
export const withExchanges = <Result>(
  note: (exchange: Exchange) => void,
  work: () => Promise<Result>,
): Promise<Result> => listener.run(note, work)
