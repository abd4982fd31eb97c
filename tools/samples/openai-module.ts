/** All TypeScript samples of the `openai` package in one module, so that `tsc` checks them. */
import { examples } from '../../contract/src/examples.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { openAiTypescriptParts } from '../../contract/src/samples/openai.ts'

/** Without it, the rules of this project would ask for another notation than the usual one. */
const environment = 'declare const process: { env: { KINORA_URL: string; KINORA_API_KEY: string } }'

const indented = (code: string) => code.replace(/^(?=.)/gm, '  ')

export const openAiModule = (): string => {
  const samples = Object.values<Operation>(operations).flatMap((operation) => {
    const example = examples[operation.id]
    const parts = example && openAiTypescriptParts(operation, example)
    return parts === undefined ? [] : [{ id: operation.id, ...parts }]
  })
  const imports = [...new Set(samples.flatMap((sample) => sample.imports))].toSorted()
  const functions = samples.map(
    ({ id, code }) => `export const ${id} = async () => {\n${indented(code)}\n}\n`,
  )
  return `// Generated from the code by \`npm run generate\`. Do not edit.\n${imports.join('\n')}\n\n${environment}\n\n${functions.join('\n')}`
}
