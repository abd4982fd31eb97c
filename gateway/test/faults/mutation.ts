import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A change of the source text of one file. */
export interface Mutation {
  /** Relative to gateway/src. */
  file: string
  find: string
  replace: string
}

/** A worker that stops without waiting for its steps: it waits for the streams of the engine only. */
export const withoutDrain: Mutation = {
  file: 'platform/engine/serve-engine.ts',
  find: `for (const session of sessions) session.settings({ maxConcurrentStreams: 0 })
      await steps.stop()`,
  replace: 'for (const session of sessions) session.close()',
}

export const mutationVariable = 'KINORA_TEST_MUTATION'
/** Written to the log of a role when it loads the mutated file. */
export const mutationNotice = 'loads a mutated file'

const hook = new URL('mutate-module.ts', import.meta.url)
export const mutatedUrl = ({ file }: Mutation) => new URL(`../../src/${file}`, import.meta.url)

/** The changed source. The text must occur exactly once, so that no control outlives the code that it is about. */
export const mutate = (mutation: Mutation): string => {
  const pieces = readFileSync(fileURLToPath(mutatedUrl(mutation)), 'utf8').split(mutation.find)
  if (pieces.length !== 2) {
    throw new Error(
      `${mutation.file} must contain this text once, not ${pieces.length - 1} times: ${mutation.find}`,
    )
  }
  return pieces.join(mutation.replace)
}

/** The arguments and the environment with which Node runs a program with the mutation. */
export const runWith = (mutation: Mutation | undefined) =>
  mutation === undefined
    ? { execArguments: [], environment: {} }
    : {
        execArguments: ['--import', hook.href],
        environment: { [mutationVariable]: JSON.stringify(mutation) },
      }
