/**
 * Code for each operation in the API reference, made from the recorded examples. `KINORA_URL` and `KINORA_API_KEY` stand for the
 * address of the instance and a key.
 */
import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { writeCurl } from './curl.ts'
import { writeOpenAiPython, writeOpenAiTypescript } from './openai.ts'

/** Undefined if the language has no call for the operation. */
export type WriteSample = (operation: Operation, example: Example) => string | undefined

/** To add a language, add a row. */
const languages: { lang: string; label: string; write: WriteSample }[] = [
  { lang: 'shell', label: 'curl', write: writeCurl },
  { lang: 'typescript', label: 'openai (TypeScript)', write: writeOpenAiTypescript },
  { lang: 'python', label: 'openai (Python)', write: writeOpenAiPython },
]

export interface CodeSample {
  lang: string
  label: string
  source: string
}

export const codeSamplesOf = (operation: Operation, example: Example | undefined): CodeSample[] =>
  example === undefined
    ? []
    : languages.flatMap(({ lang, label, write }) => {
        const source = write(operation, example)
        return source === undefined ? [] : [{ lang, label, source }]
      })
