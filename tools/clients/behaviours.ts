/** What the client libraries are shown to do. `tools/prove-clients.ts` runs every list of this folder. */

export interface Behaviour {
  name: string
  /** Throws if the library does something else. */
  run: (baseUrl: string, key: string) => Promise<void>
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
