/**
 * Writes the documents that are made from the code: the API's description, the page of errors, both lists of
 * settings, and the page of what may be set up about providers. With `--check` it writes nothing and fails where one of them is stale.
 */
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

import { adminOperations } from '../contract/src/admin-operations.ts'
import { errors, taskErrors, type ErrorCode } from '../contract/src/errors.ts'
import { adminOpenapi, openapi } from '../contract/src/openapi.ts'
import {
  errorsOf,
  errorsOfEveryKey,
  errorsOfEveryOperation,
  type Operation,
} from '../contract/src/operation.ts'
import { operations } from '../contract/src/operations.ts'
import { webhookOperations } from '../contract/src/operations/webhooks.ts'
import { settings } from '../gateway/src/config.ts'
import { demandOf } from '../gateway/src/provider-config/config-reader.ts'
import { commonModelSettings, routeSettings } from '../gateway/src/provider-config/model-config.ts'
import { commonProviderSettings } from '../gateway/src/provider-config/provider-config.ts'
import type { Protocol } from '../gateway/src/providers/kit/protocol.ts'
import { protocols } from '../gateway/src/providers/registry.ts'

const note = 'Made from the code by `npm run generate`; change it there.'

/** One paragraph or list entry of Markdown per line, so that a change shows as itself. */
const lines = (...given: (string | string[])[]) => `${given.flat().join('\n')}\n`

const nameOf = ({ method, path }: Operation) => `\`${method} ${path}\``

const answeredBy = (code: ErrorCode): string => {
  if (errorsOfEveryOperation.includes(code)) return 'every operation'
  if (errorsOfEveryKey.includes(code)) return 'every operation that takes a key'
  const names = [
    ...Object.values<Operation>(operations),
    ...Object.values<Operation>(adminOperations),
    ...Object.values<Operation>(webhookOperations),
  ].flatMap((operation) => (errorsOf(operation).includes(code) ? nameOf(operation) : []))
  return names.length === 0 ? 'no operation yet; it is kept for endpoints that are to come' : names.join(', ')
}

const errorSection = (code: ErrorCode) => {
  const { status, type, message, remedy } = errors[code]
  return [
    `### ${code}`,
    '',
    `- Status and type: ${status} \`${type}\``,
    `- Message: ${message}`,
    `- What to do: ${remedy}`,
    `- Answered by: ${answeredBy(code)}`,
    '',
  ]
}

const errorsPage = () =>
  lines(
    '# Errors',
    '',
    note,
    '',
    'Every answer that is not a success has this body. `param` names the offending parameter, where there is one;',
    'a message may be more precise than the one listed here. Decide by `code`, never by the message.',
    '',
    '```json',
    '{ "error": { "message": "…", "type": "…", "code": "…", "param": "…" } }',
    '```',
    '',
    "The reply's `x-request-id` finds the request in the logs; name it when you report a fault.",
    '',
    '## Codes of an answer',
    '',
    (Object.keys(errors) as ErrorCode[]).flatMap(errorSection),
    '## Codes of a failed task',
    '',
    'A task that was accepted and then failed is read with status 200. Its `status` is `failed`, its `error` carries',
    'one of these codes, and what was held for it has been given back.',
    '',
    '| code | message |',
    '|---|---|',
    Object.entries(taskErrors).map(([code, message]) => `| \`${code}\` | ${message} |`),
  )

interface Row {
  name: string
  isRequired: boolean
  /** What holds when it is not set, in words where it is no fixed text. */
  fallback: string
  /** The fallback as it would be written into the environment; undefined where it is no fixed text. */
  example: string | undefined
  description: string
  isLimit: boolean
}

/** A description may end with what the default comes to, for defaults that depend on the machine or other settings. */
const withoutDefault = (text: string) => {
  const [, description = text, inWords] = /^(.*?)(?: Default: (.+)\.)?$/.exec(text) ?? []
  return { description, inWords }
}

const settingRows = (): Row[] =>
  Object.entries<{ default?: string; description: string; isLimit?: true }>(settings).map(([name, row]) => {
    const { description, inWords } = withoutDefault(row.description)
    return {
      name,
      isRequired: row.default === undefined,
      fallback: inWords ?? row.default ?? '',
      example: inWords === undefined ? row.default : undefined,
      description,
      isLimit: row.isLimit === true,
    }
  })

const environmentExample = () =>
  lines(
    `# ${note.replaceAll('`', '')}`,
    '# Copy it to .env. What is commented out shows its default; what is not must be given.',
    '# Secrets have at least 32 characters, such as `openssl rand -hex 32` prints.',
    settingRows().flatMap(({ name, isRequired, fallback, example, description }) => [
      '',
      `# ${description}${example === undefined && !isRequired ? ` Default: ${fallback}.` : ''}`,
      isRequired ? `${name}=` : `# ${name}=${example ?? ''}`,
    ]),
  )

const shownFallback = ({ isRequired, fallback, example }: Row) => {
  if (isRequired) return '**required**'
  if (example === undefined) return fallback
  return fallback === '' ? 'empty' : `\`${fallback}\``
}

const configurationPage = () =>
  lines(
    '# Configuration',
    '',
    note,
    '',
    'Settings are environment variables, the same for every role. They are read once, at start; everything that is',
    'wrong with them is said at once, and the process then ends with exit code 78. `kinora dev` needs none of them.',
    '',
    '| setting | default | what it is for |',
    '|---|---|---|',
    settingRows().map((row) => `| \`${row.name}\` | ${shownFallback(row)} | ${row.description} |`),
    '',
    'Which of them matter when is in [operating.md](operating.md), and what may stand in `PROVIDERS_FILE` in',
    '[providers.md](providers.md).',
  )

const entryTable = ({ properties, required }: Protocol['settings']): string[] => {
  const fallbackOf = (name: string, given: unknown, inWords: string | undefined) => {
    if (inWords !== undefined) return inWords
    if (given === undefined) return required?.includes(name) ? '**required**' : 'none'
    if (given === '') return 'empty'
    return `\`${typeof given === 'string' ? given : JSON.stringify(given)}\``
  }
  return [
    '| setting | default | must be | what it is for |',
    '|---|---|---|---|',
    ...Object.entries(properties as Record<string, Parameters<typeof demandOf>[0]>).map(
      ([name, property]) => {
        const { description, inWords } = withoutDefault(property.description ?? '')
        const fallback = fallbackOf(name, property.default, inWords)
        return `| \`${name}\` | ${fallback} | ${demandOf(property)} | ${description} |`
      },
    ),
  ]
}

const addressOf = (kind: string, { defaultBaseUrl }: Protocol): string => {
  const usual = kind === 'local' ? 'LOCAL_URL' : defaultBaseUrl
  return usual === undefined ? 'Its `baseUrl` must be given.' : `Its \`baseUrl\` is \`${usual}\` by default.`
}

const kindSection = ([kind, protocol]: [string, Protocol]): string[] => [
  `### ${kind}`,
  '',
  addressOf(kind, protocol),
  '',
  ...(Object.keys(protocol.settings.properties).length === 0
    ? ['It has no settings of its own.']
    : entryTable(protocol.settings)),
  '',
]

const providersPage = () =>
  lines(
    '# Providers, models and routes',
    '',
    note,
    '',
    'What may stand in `PROVIDERS_FILE`, under `providers` and `models`. How it is used, with an example, is in',
    "[operating.md](operating.md#providers-and-routes). The operators' API takes the same settings, written with",
    'underscores, such as `base_url`.',
    '',
    '## Every provider',
    '',
    entryTable(commonProviderSettings),
    '',
    '## What a kind has beside these',
    '',
    Object.entries(protocols).flatMap(kindSection),
    '## A model',
    '',
    'Its name must be one of the catalog, as `GET /v1/models` lists them.',
    '',
    entryTable(commonModelSettings),
    '',
    '## A route',
    '',
    entryTable(routeSettings),
  )

const limitsTable = () =>
  lines(
    '| setting | default | what it limits |',
    '|---|---|---|',
    settingRows()
      .filter(({ isLimit }) => isLimit)
      .map((row) => `| \`${row.name}\` | ${shownFallback(row)} | ${row.description} |`),
  )

const securityFile = 'docs/security.md'
const limitsMarks = { begin: '<!-- limits: made by `npm run generate` -->\n', end: '<!-- end of limits -->' }

/** The page as people wrote it, with the table of limits between its marks. */
const securityPage = () => {
  const text = readFileSync(new URL(`../${securityFile}`, import.meta.url), 'utf8')
  const begin = text.indexOf(limitsMarks.begin)
  const end = text.indexOf(limitsMarks.end)
  if (begin < 0 || end < begin) throw new Error(`${securityFile} lacks the marks of the table of limits`)
  return `${text.slice(0, begin)}${limitsMarks.begin}\n${limitsTable()}\n${text.slice(end)}`
}

export const documents = (): Record<string, string> => ({
  [securityFile]: securityPage(),
  'docs/openapi.json': `${JSON.stringify(openapi(), null, 2)}\n`,
  'docs/admin-openapi.json': `${JSON.stringify(adminOpenapi(), null, 2)}\n`,
  'docs/errors.md': errorsPage(),
  'docs/configuration.md': configurationPage(),
  'docs/providers.md': providersPage(),
  '.env.example': environmentExample(),
})

/** The documents that differ from what the code would write. */
export const staleDocuments = async (root: URL): Promise<string[]> => {
  const stale: string[] = []
  for (const [file, text] of Object.entries(documents())) {
    const present = await readFile(new URL(file, root), 'utf8').catch(() => undefined)
    if (present !== text) stale.push(file)
  }
  return stale
}

if (import.meta.main) {
  const root = new URL('../', import.meta.url)
  const stale = await staleDocuments(root)
  if (process.argv.includes('--check')) {
    if (stale.length > 0) {
      process.stderr.write(`Stale: ${stale.join(', ')}. Run: npm run generate\n`)
      process.exitCode = 1
    }
  } else {
    const texts = documents()
    for (const file of stale) await writeFile(new URL(file, root), texts[file] ?? '')
    process.stdout.write(stale.length === 0 ? 'Nothing to do.\n' : `Wrote ${stale.join(', ')}.\n`)
  }
}
