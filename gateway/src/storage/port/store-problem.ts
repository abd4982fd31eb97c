/** What is wrong with a store, and what to do. */
export interface Explanation {
  cause: string
  fix: string
}

/** A finding that is not an error of the store. */
export class StoreProblem extends Error {
  readonly explanation: Explanation
  constructor(cause: string, fix: string) {
    super(cause)
    this.explanation = { cause, fix }
  }
}

export const assertSame = (found: Buffer, expected: Buffer, what: string): void => {
  if (found.equals(expected)) return
  throw new StoreProblem(
    `${what} returned ${found.length} bytes that differ from the ${expected.length} written`,
    'use another server: this one does not return what it stores',
  )
}
