/** The JavaScript and TypeScript of pages about the packages, as a module per page, so that `tsc` checks it. */
import { readFileSync } from 'node:fs'

import { indent } from '../../contract/src/samples/notation.ts'

interface Page {
  /** The generated file is `tools/samples/<name>-samples.ts`. */
  name: string
  path: string
  /** What the examples use without declaring it. A block that declares the same name has its own. */
  given: Record<string, string>
}

const client = {
  kinora: `import('@kinora/client').Kinora`,
  process: '{ env: { OPERATOR_KEY: string; WEBHOOK_SECRET: string } }',
}

const pages: Page[] = [
  {
    name: 'client-readme',
    path: 'client/README.md',
    given: { ...client, body: 'string', request: '{ headers: Headers }' },
  },
  { name: 'client-page', path: 'docs/client.md', given: { ...client, id: 'string', signal: 'AbortSignal' } },
  { name: 'ai-sdk-readme', path: 'ai-sdk/README.md', given: {} },
  {
    name: 'ai-sdk-page',
    path: 'docs/ai-sdk.md',
    given: {
      kinora: `ReturnType<typeof import('@kinora/ai-sdk').createKinora>`,
      play: '(bytes: Uint8Array) => void',
    },
  },
]

const blocksIn = (text: string): string[] =>
  [...text.matchAll(/```(?:js|ts)\n([^]*?)```/g)].map(([, code = '']) => code.trim())

/** Packages of other vendors that only these pages use. */
const isNotInstalled = (code: string) => code.includes(`'@ai-sdk/openai-compatible'`)

const isImport = (line: string) => line.startsWith('import ')

const pageModule = ({ path, given }: Page): string => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const blocks = blocksIn(text)
    .filter((block) => !isNotInstalled(block))
    .map((block) => block.split('\n'))
  const imports = [...new Set(blocks.flatMap((lines) => lines.filter(isImport)))].toSorted()
  const bodies = blocks.map((lines) =>
    lines
      .filter((line) => !isImport(line))
      .join('\n')
      .trim(),
  )
  const names = Object.entries(given).filter(([name]) =>
    bodies.some((body) => new RegExp(`\\b${name}\\b`).test(body)),
  )
  return [
    `// Generated from ${path} by \`npm run generate\`. Do not edit.`,
    ...imports,
    ...(names.length === 0 ? [] : ['']),
    ...names.map(([name, type]) => `declare const ${name}: ${type}`),
    ...bodies.flatMap((body, index) => [
      '',
      `export const example${index + 1} = async () => {`,
      indent(body),
      '}',
    ]),
    '',
  ].join('\n')
}

export const pageModules = (): Record<string, string> =>
  Object.fromEntries(pages.map((page) => [`tools/samples/${page.name}-samples.ts`, pageModule(page)]))
