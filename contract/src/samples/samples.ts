/**
 * Code for each operation in the API reference, made from the recorded examples. `KINORA_URL` and `KINORA_API_KEY` stand for the
 * address of the instance and a key.
 */
import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { clientParts } from './client.ts'
import { writeCommand } from './command-line.ts'
import { writeCurl } from './curl.ts'
import { openAiTypescriptParts, writeOpenAiPython } from './openai.ts'
import type { WriteParts } from './sample-parts.ts'

/** Undefined if the language has no call for the operation. */
type WriteSample = (operation: Operation, example: Example) => string | undefined

/** TypeScript, of which the parts are also compiled as one module. */
export const typescriptLanguages: { label: string; write: WriteParts }[] = [
  { label: '@kinora/client', write: clientParts },
  { label: 'openai (TypeScript)', write: openAiTypescriptParts },
]

const typescriptLanguage = ({ label, write }: (typeof typescriptLanguages)[number]) => ({
  ...{ lang: 'typescript', label },
  write: (operation: Operation, example: Example) => {
    const parts = write(operation, example)
    return parts && [...parts.imports, '', parts.code].join('\n')
  },
})

/**
 * To add a language, add a row. The page of the reference keeps a reader's choice by `lang` and the position among its
 * samples, so a language that every operation has stands before others with the same `lang`.
 */
const languages: { lang: string; label: string; write: WriteSample }[] = [
  { lang: 'shell', label: 'curl', write: writeCurl },
  ...typescriptLanguages.map(typescriptLanguage),
  { lang: 'python', label: 'openai (Python)', write: writeOpenAiPython },
  { lang: 'shell', label: 'kinora (command line)', write: writeCommand },
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
