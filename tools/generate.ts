/**
 * Generates documents from the code: the OpenAPI descriptions, the errors page, both lists of settings, the providers
 * page, dashboards, the model ids of the AI SDK package, the checksums of migrations, and tables inside of other pages. With `--check` it writes nothing and fails if a
 * document is stale.
 */
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

import { performanceCharts, performanceTables } from '../bench/report/performance-page.ts'
import { adminOperations } from '../contract/src/admin-operations.ts'
import { errors, mayRetry, type ErrorCode } from '../contract/src/errors.ts'
import { adminOpenapi, openapi } from '../contract/src/openapi.ts'
import {
  errorsOf,
  errorsOfEveryKey,
  errorsOfEveryOperation,
  type Operation,
} from '../contract/src/operation.ts'
import { operations } from '../contract/src/operations.ts'
import { webhookOperations } from '../contract/src/operations/webhooks.ts'
import { operatorRoles } from '../contract/src/operator-key.ts'
import { taskErrors } from '../contract/src/task-errors.ts'
import { settings } from '../gateway/src/config.ts'
import { modelConfigSchemas } from '../gateway/src/provider-config/model-config.ts'
import { priceRuleSchema } from '../gateway/src/provider-config/price-config.ts'
import { providerConfigSchema } from '../gateway/src/provider-config/provider-config.ts'
import { routeConfigSchema } from '../gateway/src/provider-config/route-config.ts'
import { describeExpected } from '../gateway/src/provider-config/validate-config.ts'
import type { Protocol } from '../gateway/src/providers/kit/protocol.ts'
import { protocols } from '../gateway/src/providers/registry.ts'
import { describePersonalData, describeStoredFiles } from '../gateway/src/retention/personal-data.ts'
import { describeGrowth, tableGrowth } from '../gateway/src/retention/table-growth.ts'
import { audioLimitsFile } from './audio-limits.ts'
import { clientFiles } from './client/write-client.ts'
import { commandPage } from './command-page.ts'
import { compatibilityPage } from './compatibility.ts'
import { consoleFieldsFile } from './console-fields.ts'
import { dashboardFiles } from './dashboards/dashboards.ts'
import { metricsPage } from './metrics-page.ts'
import { checksumsFile, readChecksums, readMigrations, withNewChecksums } from './migration-rules.ts'
import { modelIdsFile } from './model-ids.ts'
import { modelListPage } from './model-list.ts'
import { pageModules } from './samples/page-modules.ts'
import { sampleModules } from './samples/sample-modules.ts'
import { scaleTables } from './scale/scale-tables.ts'
import { pagesWithSnippets } from './snippets.ts'

const note = 'Generated from the code by `npm run generate`. Do not edit.'

/** One paragraph or list item of Markdown per line, for readable diffs. */
const lines = (...given: (string | string[])[]) => `${given.flat().join('\n')}\n`

const nameOf = ({ method, path }: Operation) => `\`${method} ${path}\``

const returnedBy = (code: ErrorCode): string => {
  if (errorsOfEveryOperation.includes(code)) return 'every operation'
  if (errorsOfEveryKey.includes(code)) return 'every operation that requires a key'
  const names = [
    ...Object.values<Operation>(operations),
    ...Object.values<Operation>(adminOperations),
    ...Object.values<Operation>(webhookOperations),
  ].flatMap((operation) => (errorsOf(operation).includes(code) ? nameOf(operation) : []))
  return names.length === 0 ? 'no operation yet; reserved for future endpoints' : names.join(', ')
}

const errorSection = (code: ErrorCode) => {
  const { status, type, message, hint } = errors[code]
  return [
    `### ${code}`,
    '',
    `- Status and type: ${status} \`${type}\``,
    `- Message: ${message}`,
    `- Hint: ${hint}`,
    `- \`x-should-retry\`: ${mayRetry(code)}`,
    `- Returned by: ${returnedBy(code)}`,
    '',
  ]
}

const errorsPage = () =>
  lines(
    '# Errors',
    '',
    note,
    '',
    'Every error response, and every error event of a stream, has this body. The message may be more specific than the',
    'one listed here, so handle errors by `code`. A running instance serves this list at `/docs/errors`.',
    '',
    '| field | content |',
    '|---|---|',
    '| `message` | what is wrong |',
    '| `type`, `code` | as listed here |',
    '| `param` | the invalid or missing parameter, if there is one |',
    '| `hint` | how to fix errors with this code |',
    '| `doc_url` | the section of the code at `/docs/errors` |',
    '| `request_id` | the id of the request, as in the `x-request-id` header; include it when you report a problem |',
    '',
    '```json',
    '{ "error": { "message": "…", "type": "…", "code": "…", "param": "…", "hint": "…", "doc_url": "…", "request_id": "…" } }',
    '```',
    '',
    '## Error codes of responses',
    '',
    (Object.keys(errors) as ErrorCode[]).flatMap(errorSection),
    '## Error codes of failed tasks',
    '',
    'Reading a task that failed after it was accepted returns status 200. Its `status` is `failed`, its `error` has one',
    'of these codes, and its hold has been released.',
    '',
    '| code | message |',
    '|---|---|',
    Object.entries(taskErrors).map(([code, message]) => `| \`${code}\` | ${message} |`),
  )

interface Row {
  name: string
  isRequired: boolean
  /** The default, in words if it is not a fixed value. */
  fallback: string
  /** The default as an environment variable would hold it; undefined if it is not a fixed value. */
  example: string | undefined
  description: string
  isLimit: boolean
}

/** A description may end with "Default: …" for defaults that depend on the machine or on other settings. */
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
    '# Copy this file to .env. Commented-out settings show their default; the others are required.',
    '# Secrets need at least 32 characters; `openssl rand -hex 32` prints one.',
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
    'Settings are environment variables, the same for every role. Each process reads them once, at start. If any are',
    'invalid, it reports all of them and exits with code 78. `kinora dev` requires none of them.',
    '',
    '| setting | default | description |',
    '|---|---|---|',
    settingRows().map((row) => `| \`${row.name}\` | ${shownFallback(row)} | ${row.description} |`),
    '',
    '[operating.md](operating.md) explains when to change them, and [providers.md](providers.md) lists the settings of',
    '`PROVIDERS_FILE`.',
  )

const configTable = ({ properties, required }: Protocol['settings']): string[] => {
  const fallbackOf = (name: string, given: unknown, inWords: string | undefined) => {
    if (inWords !== undefined) return inWords
    if (given === undefined) return required?.includes(name) ? '**required**' : 'none'
    if (given === '') return 'empty'
    return `\`${typeof given === 'string' ? given : JSON.stringify(given)}\``
  }
  return [
    '| setting | default | must be | description |',
    '|---|---|---|---|',
    ...Object.entries(properties as Record<string, Parameters<typeof describeExpected>[0]>).map(
      ([name, property]) => {
        const { description, inWords } = withoutDefault(property.description ?? '')
        const fallback = fallbackOf(name, property.default, inWords)
        return `| \`${name}\` | ${fallback} | ${describeExpected(property)} | ${description} |`
      },
    ),
  ]
}

const [anyModelSchema, ...otherModelSchemas] = Object.values<Protocol['settings']>(modelConfigSchemas)
const isCommonSetting = (name: string) =>
  !['endpoints', 'aliases'].includes(name) && otherModelSchemas.every(({ properties }) => name in properties)

/** The settings of a kind of models that the other kinds have as well, or have not. */
const modelSettings = (schema: Protocol['settings'] | undefined, which: 'common' | 'own') => {
  const chosen = Object.entries(schema?.properties ?? {}).filter(
    ([name]) => isCommonSetting(name) === (which === 'common'),
  )
  return configTable({ ...schema, properties: Object.fromEntries(chosen) } as Protocol['settings'])
}

const addressOf = (kind: string, { defaultBaseUrl }: Protocol): string => {
  const defaultUrl = kind === 'local' ? 'LOCAL_URL' : defaultBaseUrl
  return defaultUrl === undefined ? '`baseUrl` is required.' : `\`baseUrl\` is \`${defaultUrl}\` by default.`
}

const kindSection = ([kind, protocol]: [string, Protocol]): string[] => [
  `### ${kind}`,
  '',
  addressOf(kind, protocol),
  '',
  ...(Object.keys(protocol.settings.properties).length === 0
    ? ['It has no further settings.']
    : configTable(protocol.settings)),
  '',
]

const providersPage = () =>
  lines(
    '# Providers, models and routes',
    '',
    note,
    '',
    'The settings of `PROVIDERS_FILE`, under `providers` and `models`. See',
    '[operating.md](operating.md#providers-and-routes) for an example. The admin API uses the same settings in snake case,',
    'such as `base_url`.',
    '',
    '## All providers',
    '',
    configTable(providerConfigSchema),
    '',
    '## Settings by kind',
    '',
    Object.entries(protocols).flatMap(kindSection),
    '## Models',
    '',
    'An entry with the id of a model of the reference changes its settings. Any other entry adds a model, and needs a `kind`;',
    'see [add a model](add-a-model.md). An id has letters, digits, dots, hyphens and underscores.',
    '',
    modelSettings(anyModelSchema, 'common'),
    '',
    Object.entries(modelConfigSchemas).flatMap(([kind, schema]) => [
      `### Models of the kind \`${kind}\``,
      '',
      ...modelSettings(schema, 'own'),
      '',
    ]),
    '## Routes',
    '',
    configTable(routeConfigSchema),
    '',
    '## Prices and costs',
    '',
    'A list of rules. Of the rules that apply to a request, the one with the most conditions counts; of two with equally many,',
    'one with a resolution before one with an input before one with a sound. The price of images is added to that of the',
    'video. `second` and `call` exclude each other. The prices of a model need a rule without conditions, the costs of a',
    'route do not. Later sources replace the whole list.',
    '',
    configTable(priceRuleSchema),
  )

const limitsTable = () =>
  lines(
    '| setting | default | description |',
    '|---|---|---|',
    settingRows()
      .filter(({ isLimit }) => isLimit)
      .map((row) => `| \`${row.name}\` | ${shownFallback(row)} | ${row.description} |`),
  )

/** Which role of an operator key may call which operation. */
const rolesTable = () =>
  lines(
    `| operation | ${operatorRoles.join(' | ')} |`,
    `|---|${operatorRoles.map(() => '---|').join('')}`,
    Object.values<Operation>(adminOperations).flatMap((operation) => {
      if (operation.access !== 'operator') return []
      const cells = operatorRoles.map((role) => (operation.roles.includes(role) ? 'yes' : '–'))
      return `| ${nameOf(operation)} | ${cells.join(' | ')} |`
    }),
  )

/** What limits the size of each table. */
const growthTable = () =>
  lines(
    '| table | limit |',
    '|---|---|',
    Object.entries(tableGrowth)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([table, growth]) => `| \`${table}\` | ${describeGrowth(growth)} |`),
  )

const privacyFile = 'docs/privacy.md'
const operatingFile = 'docs/operating.md'
const securityFile = 'docs/security.md'
const adminFile = 'docs/admin-api.md'
const performanceFile = 'docs/performance.md'
const scaleFile = 'docs/scale.md'

const withTable = (file: string, text: string, name: string, table: string) => {
  const beginMark = `<!-- ${name}: made by \`npm run generate\` -->\n`
  const begin = text.indexOf(beginMark)
  const end = text.indexOf(`<!-- end of ${name} -->`)
  if (begin < 0 || end < begin) throw new Error(`${file} lacks the marks around the table of ${name}`)
  return `${text.slice(0, begin)}${beginMark}\n${table}\n${text.slice(end)}`
}

/** A hand-written page, with generated tables between their marks. */
const pageWithTables = (file: string, tables: Record<string, string>) =>
  Object.entries(tables).reduce(
    (text, [name, table]) => withTable(file, text, name, table),
    readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'),
  )

export const documents = (): Record<string, string> => ({
  ...pagesWithSnippets(),
  [operatingFile]: pageWithTables(operatingFile, { tables: growthTable() }),
  [privacyFile]: pageWithTables(privacyFile, {
    columns: lines(describePersonalData()),
    files: lines(describeStoredFiles()),
  }),
  [securityFile]: pageWithTables(securityFile, { limits: limitsTable() }),
  [adminFile]: pageWithTables(adminFile, { roles: rolesTable() }),
  [performanceFile]: pageWithTables(performanceFile, performanceTables()),
  ...performanceCharts(),
  [scaleFile]: pageWithTables(scaleFile, scaleTables()),
  'docs/openapi.json': `${JSON.stringify(openapi(), null, 2)}\n`,
  'docs/admin-openapi.json': `${JSON.stringify(adminOpenapi(), null, 2)}\n`,
  ...sampleModules(),
  ...pageModules(),
  'docs/errors.md': errorsPage(),
  'docs/command-line.md': commandPage(note),
  'docs/configuration.md': configurationPage(),
  'docs/compatibility.md': lines(...compatibilityPage(note)),
  'docs/metrics.md': lines('# Metrics', '', note, '', metricsPage()),
  'docs/model-list.md': lines('# Models and prices', '', note, '', modelListPage()),
  'docs/providers.md': providersPage(),
  '.env.example': environmentExample(),
  'ai-sdk/src/model-ids.ts': modelIdsFile(),
  'console/src/generated/audio-limits.ts': audioLimitsFile(),
  ...dashboardFiles(),
  ...clientFiles(),
  'console/src/generated/key-and-webhook-fields.ts': consoleFieldsFile(),
  [checksumsFile]: `${JSON.stringify(withNewChecksums(readChecksums(), readMigrations()), null, 2)}\n`,
})

/** The documents that differ from the generated text. */
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
    process.stdout.write(
      stale.length === 0 ? 'All documents are up to date.\n' : `Wrote ${stale.join(', ')}.\n`,
    )
  }
}
