/** What a client library does with a running service. */
import type { CompatibilityRow, Library } from '../compatibility.ts'

export interface Behaviour {
  /** A sentence about what holds. */
  name: string
  /** Throws if it does not hold. The base URL has no path. */
  run: (baseUrl: string, key: string) => Promise<void>
}

/** A behaviour from which the rows of its calls in the table of compatibility are made. */
export interface ListedBehaviour extends Behaviour {
  /** The functions of the library that it calls. */
  calls: string[]
  /** What a caller of these functions gets. */
  result: CompatibilityRow['result']
  /** Why it is rejected, or what is different. */
  note?: string
}

export interface ClientLibrary {
  library: Library
  version: string
  behaviours: ListedBehaviour[]
}

export interface BehaviourResult {
  name: string
  /** Undefined if it is as described. */
  problem?: string
}

/** Runs behaviours one after another. */
export const runBehaviours = async (
  behaviours: Behaviour[],
  baseUrl: string,
  key: string,
): Promise<BehaviourResult[]> => {
  const results: BehaviourResult[] = []
  for (const { name, run } of behaviours) {
    try {
      await run(baseUrl, key)
      results.push({ name })
    } catch (error) {
      results.push({ name, problem: error instanceof Error ? error.message : String(error) })
    }
  }
  return results
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
