import type { TestModule } from 'vitest/node'

/** Ends the output of a proof: errors outside of tests, and how many tests passed and failed. */
export const printTotals = (modules: readonly TestModule[], errors: readonly { message: string }[]): void => {
  const out = (line: string) => process.stdout.write(`${line}\n`)
  for (const { message } of [...errors, ...modules.flatMap((module) => module.errors())]) out(message)
  const states = modules.flatMap((module) =>
    [...module.children.allTests()].map((test) => test.result().state),
  )
  const countOf = (state: string) => states.filter((each) => each === state).length
  out(`${countOf('passed')} passed, ${countOf('failed')} failed`)
  // Without this a misspelt name would pass.
  if (countOf('passed') === 0) process.exitCode = 1
}
