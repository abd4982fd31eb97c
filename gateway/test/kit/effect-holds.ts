/** The effects of a process on the database and the vendor, as seen by proxies, and where the process is held. */

export interface Effect {
  /** The statements of a transaction that write, or the method and path of a request to the vendor. */
  action: string
  /** The values of the statements, or the URL and body of the request. They tell which tasks are concerned. */
  values: string
}

/** `before`: the effect has not happened · `after`: it has, and the process does not know. */
export type When = 'before' | 'after'

export interface Hold {
  when: When
  matches: (effect: Effect) => boolean
  /** Called whenever a statement or request is held. */
  onHeld: () => void
}

export interface EffectHolds {
  /** All effects so far. */
  seen: Effect[]
  /** Holds every effect that matches, until the process is killed. The process may repeat one that it has given up. */
  add: (hold: Hold) => void
  /** Holds nothing any more. What is held stays held. */
  clear: () => void
  /** Keeps the process from starting a statement meanwhile. Open transactions go on, so that nobody waits for their locks. */
  withoutStatements: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** For proxies: calls back when a statement may start. */
  whenAllowed: (start: () => void) => void
  /** For proxies: notes an effect, and returns the hold that applies to it. */
  observe: (effect: Effect) => Hold | undefined
}

export const createEffectHolds = (): EffectHolds => {
  const seen: Effect[] = []
  const holds = new Set<Hold>()
  let waiting: (() => void)[] | undefined
  return {
    seen,
    withoutStatements: async (work) => {
      waiting = []
      try {
        return await work()
      } finally {
        const starts = waiting
        waiting = undefined
        for (const start of starts) start()
      }
    },
    whenAllowed: (start) => {
      if (waiting === undefined) start()
      else waiting.push(start)
    },
    add: (hold) => void holds.add(hold),
    clear: () => holds.clear(),
    observe: (effect) => {
      seen.push(effect)
      return holds.values().find(({ matches }) => matches(effect))
    },
  }
}
