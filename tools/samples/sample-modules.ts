/** All TypeScript samples of a package in one module, so that `tsc` checks them. */
import { adminOperations } from '../../contract/src/admin-operations.ts'
import { examples } from '../../contract/src/examples.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { indent } from '../../contract/src/samples/notation.ts'
import { typescriptLanguages } from '../../contract/src/samples/samples.ts'

/** Without it, the rules of this project would ask for another notation than the usual one. */
const environment = 'declare const process: { env: { KINORA_URL: string; KINORA_API_KEY: string } }'

type Language = (typeof typescriptLanguages)[number]

const sampleModule = ({ write }: Language): string => {
  const all: Operation[] = [...Object.values(operations), ...Object.values(adminOperations)]
  const samples = all.flatMap((operation) => {
    const example = examples[operation.id]
    const parts = example && write(operation, example)
    return parts === undefined ? [] : [{ id: operation.id, ...parts }]
  })
  const imports = [...new Set(samples.flatMap((sample) => sample.imports))].toSorted()
  const functions = samples.map(({ id, code }) => `export const ${id} = async () => {\n${indent(code)}\n}\n`)
  return `// Generated from the code by \`npm run generate\`. Do not edit.\n${imports.join('\n')}\n\n${environment}\n\n${functions.join('\n')}`
}

/** `@kinora/client` is in `client-samples.ts`. */
const fileOf = ({ label }: Language): string => {
  const [name] = label.split(' ')
  return `tools/samples/${name?.replace('@kinora/', '')}-samples.ts`
}

export const sampleModules = (): Record<string, string> =>
  Object.fromEntries(typescriptLanguages.map((language) => [fileOf(language), sampleModule(language)]))
