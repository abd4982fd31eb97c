import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'

/** The imports of a sample and what follows them, so that a test can compile many samples in one file. */
export interface SampleParts {
  imports: string[]
  code: string
}

/** Undefined if the language has no call for the operation. */
export type WriteParts = (operation: Operation, example: Example) => SampleParts | undefined
