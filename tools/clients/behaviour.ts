/** What a client library does against a running service. */
interface Behaviour {
  /** A sentence about what holds. */
  name: string
  /** The functions of the library that it calls. */
  calls: string[]
  /** What a caller of these functions gets. */
  result: 'works' | 'rejected'
  /** Why it is rejected, or what is different. */
  note?: string
  /** Throws if it does not hold. The base URL has no path. */
  run: (baseUrl: string, key: string) => Promise<void>
}

export interface ClientLibrary {
  library: string
  version: string
  behaviours: Behaviour[]
}

/** A row of the table of compatibility. */
interface CompatibilityRow {
  library: string
  version: string
  call: string
  result: Behaviour['result']
  note: string
  /** The test that ran it. */
  provedBy: string
}

/** A call with several behaviours has the notes of all of them. */
export const compatibilityRows = (
  { library, version, behaviours }: ClientLibrary,
  provedBy: string,
): CompatibilityRow[] => {
  const calls = [...new Set(behaviours.flatMap((behaviour) => behaviour.calls))].toSorted()
  return calls.map((call) => {
    const rows = behaviours.filter((behaviour) => behaviour.calls.includes(call))
    const isRejected = rows.every(({ result }) => result === 'rejected')
    const notes = rows.flatMap(({ note }) => note ?? [])
    const result = isRejected ? 'rejected' : 'works'
    return { library, version, call, result, note: notes.join(' '), provedBy }
  })
}
