/**
 * Rules for migrations. A migration is applied while the previous version runs, so it must not break that version, and it
 * must not block the tables that it uses. Released migrations never change.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

const migrationsDirectory = new URL('../gateway/migrations/', import.meta.url)
export const checksumsFile = 'tools/migration-checksums.json'

export type Migrations = Record<string, string>
type Checksums = Record<string, string>

export const readMigrations = (): Migrations =>
  Object.fromEntries(
    readdirSync(migrationsDirectory)
      .filter((name) => name.endsWith('.sql'))
      .toSorted()
      .map((name) => [name, readFileSync(new URL(name, migrationsDirectory), 'utf8')]),
  )

export const readChecksums = (): Checksums =>
  JSON.parse(readFileSync(new URL(`../${checksumsFile}`, import.meta.url), 'utf8')) as Checksums

const checksumOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** The checksums with those of new migrations added. Existing ones stay, so that a changed migration is noticed. */
export const withNewChecksums = (checksums: Checksums, migrations: Migrations): Checksums => ({
  ...checksums,
  ...Object.fromEntries(
    Object.entries(migrations).flatMap(([name, text]) =>
      Object.hasOwn(checksums, name) ? [] : [[name, checksumOf(text)]],
    ),
  ),
})

/** The migrations that were changed or removed after they were recorded, each with what to do. */
export const changedMigrations = (checksums: Checksums, migrations: Migrations): string[] =>
  Object.entries(checksums).flatMap(([name, checksum]) => {
    const text = migrations[name]
    if (text !== undefined && checksumOf(text) === checksum) return []
    return (
      `${name} was ${text === undefined ? 'removed' : 'changed'}. Databases that have applied it would never see this. ` +
      `Restore it with \`git checkout main -- gateway/migrations\` and put the change into a new migration. ` +
      `If it is not on main yet, delete its line in ${checksumsFile} and run \`npm run generate\`.`
    )
  })

/** Numbers that two migrations share, for instance after a merge. */
export const repeatedNumbers = (names: string[]): string[] =>
  [...Map.groupBy(names, (name) => name.slice(0, 4))].flatMap(([number, sharing]) =>
    sharing.length > 1 ? `${number}: ${sharing.join(', ')}` : [],
  )

/** Without comments, bodies of functions and texts, in lower case. */
const statementsOf = (text: string): string[] =>
  text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/(\$\w*\$)[^]*?\1/g, "''")
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .toLowerCase()
    .split(';')
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' '))
    .filter((statement) => statement !== '')

/** The parts of a list, without splitting inside of parentheses. */
const partsOf = (list: string): string[] => {
  let depth = 0
  const parts = ['']
  for (const character of list) {
    depth += Number(character === '(') - Number(character === ')')
    if (character === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts.map((part) => part.trim())
}

type Danger =
  /** The previous version would fail. */
  | 'breaks'
  /** The previous version would wait. */
  | 'blocks'

interface Rule {
  danger: Danger
  /** Matches a statement, or an action of `alter table`. */
  pattern: RegExp
  what: string
}

const statementRules: Rule[] = [
  {
    danger: 'breaks',
    pattern: /^drop /,
    what: 'drops something that the previous version may use',
  },
  {
    danger: 'breaks',
    pattern: /^alter (?!table)[^]* rename\b/,
    what: 'renames something that the previous version may use',
  },
  { danger: 'breaks', pattern: /^truncate\b/, what: 'deletes rows that the previous version may use' },
]

const tableRules: Rule[] = [
  {
    danger: 'blocks',
    pattern: /^create (?:unique )?index (?!concurrently\b)(?!.* on only )/,
    what: 'blocks writes while the index is created; use `create index concurrently` in a file that begins with `-- no transaction`',
  },
  {
    danger: 'blocks',
    pattern: /^(?:update|delete from) /,
    what: 'changes many rows in one transaction; let the worker do it in batches',
  },
]

const actionRules: Rule[] = [
  { danger: 'breaks', pattern: /^rename\b/, what: 'renames something that the previous version may use' },
  {
    danger: 'breaks',
    pattern: /^drop (?!constraint\b)/,
    what: 'drops a column that the previous version may use',
  },
  {
    danger: 'breaks',
    pattern: /^drop constraint\b/,
    what: 'drops a constraint that an upsert of the previous version may need',
  },
  {
    danger: 'breaks',
    pattern: /^alter (?:column )?\S+ (?:set data )?type\b/,
    what: 'changes the type of a column; add a new column instead',
  },
  {
    danger: 'breaks',
    pattern: /^alter (?:column )?\S+ (?:set not null|drop default)\b/,
    what: 'requires a value that the previous version may not write',
  },
  {
    danger: 'breaks',
    pattern: /^add (?!constraint\b)(?!.*\bdefault\b)(?!.*\bgenerated\b)[^]*\bnot null\b/,
    what: 'adds a required column without a default, which the previous version does not write',
  },
  {
    danger: 'blocks',
    pattern: /^add (?!constraint\b)[^]*\bdefault (?!now\(\))[\w.]+\(/,
    what: 'rewrites the table, because the default is not a constant',
  },
  {
    danger: 'blocks',
    pattern:
      /^add (?:constraint \S+ )?(?:check|foreign key|unique|primary key|exclude)\b(?!.*\b(?:not valid|using index)\b)/,
    what: 'blocks writes while all rows are checked; add it with `not valid` and validate it in a later migration',
  },
]

const nameOf = (text: string | undefined) => text?.replaceAll('"', '').replace(/^public\./, '') ?? ''

/** The table that a statement changes. */
const tableOf = (statement: string): string =>
  nameOf(
    /^(?:alter table (?:if exists )?(?:only )?|update (?:only )?|delete from (?:only )?|truncate (?:table )?|create (?:unique )?index\b[^]*? on (?:only )?)([\w".]+)/.exec(
      statement,
    )?.[1],
  )

/** Whether a constraint is dropped only to be added again in another form. */
const isReplaced = (action: string, actions: string[]) => {
  const name = /^drop constraint (?:if exists )?(\S+)/.exec(action)?.[1]
  return name !== undefined && actions.some((each) => each.startsWith(`add constraint ${name} `))
}

/** Whether an index is dropped only in case a failed attempt to create it has left an invalid one. */
const isRecreated = (statement: string, statements: string[]) => {
  const name = /^drop index concurrently if exists (\S+)$/.exec(statement)?.[1]
  return (
    name !== undefined &&
    statements.some((each) => new RegExp(`^create (unique )?index concurrently ${name} `).test(each))
  )
}

const actionsOf = (statement: string): string[] =>
  partsOf(/^alter table (?:if exists )?(?:only )?\S+ ([^]*)$/.exec(statement)?.[1] ?? '')

const findingsOf = (statement: string): Rule[] => {
  const matching = (rules: Rule[], text: string) => rules.filter(({ pattern }) => pattern.test(text))
  if (!statement.startsWith('alter table ')) return matching([...statementRules, ...tableRules], statement)
  const actions = actionsOf(statement)
  return actions.flatMap((action) => (isReplaced(action, actions) ? [] : matching(actionRules, action)))
}

const isEarlier = (version: string, than: string) => {
  const [left = [], right = []] = [version, than].map((each) => each.split('.').map(Number))
  const at = [0, 1, 2].find((index) => left[index] !== right[index])
  return at !== undefined && (left[at] ?? 0) < (right[at] ?? 0)
}

/**
 * What a migration does that breaks or blocks the previous version. A header allows it: `-- unused since 1.2.0: …` names
 * the released version that stopped using what is dropped, and `-- safe: …` says why nothing is blocked for long.
 */
export const dangersIn = (text: string, nextVersion: string): string[] => {
  const unusedSince = /^-- unused since (\d+\.\d+\.\d+): \S/m.exec(text)?.[1]
  const isUnused = unusedSince !== undefined && isEarlier(unusedSince, nextVersion)
  const isSafe = /^-- safe: \S/m.test(text)
  const statements = statementsOf(text)
  const created = new Set(
    statements.flatMap((statement) => {
      const name = /^create (?:unlogged )?table (?:if not exists )?([\w".]+)/.exec(statement)?.[1]
      return name === undefined ? [] : nameOf(name)
    }),
  )
  const headerFor: Record<Danger, string> = {
    breaks:
      unusedSince === undefined
        ? 'Add it to a later release, with the header `-- unused since <version>: <reason>`'
        : `Version ${unusedSince} is not released before ${nextVersion}; wait for the next release`,
    blocks: 'If the table is always small, say so in a header `-- safe: <reason>`',
  }
  const dangers = statements.flatMap((statement) => {
    if (created.has(tableOf(statement)) || isRecreated(statement, statements)) return []
    return findingsOf(statement).flatMap(({ danger, what }) =>
      (danger === 'breaks' ? isUnused : isSafe) ? [] : `${what}: ${statement}. ${headerFor[danger]}.`,
    )
  })
  const isOutside = text.startsWith('-- no transaction\n')
  const needsOutside = statements.some((statement) =>
    /^(?:create (?:unique )?|drop )index concurrently\b/.test(statement),
  )
  return isOutside === needsOutside
    ? dangers
    : [
        ...dangers,
        'only statements with `concurrently` need the first line `-- no transaction`, and all of them do.',
      ]
}
