/** `kinora storage`: checks, measures, compares and moves the stored media. */
import { loadSettings } from '@kinora/gateway/config'
import { checkStores, compareStores, measureStores, migrateToCurrent } from '@kinora/gateway/storage-commands'

import { failed, ok, showCheck, warning as warned } from './doctor/check.ts'
import { createProgressLine, formatBytes, untilStopped } from './progress.ts'
import { cleanText } from './terminal/print.ts'

type StorageUsage = Awaited<ReturnType<typeof measureStores>>
type Amount = StorageUsage['folders'][number]['listed']

const storeSettings = ['MEDIA_DIRECTORY', 'MEDIA_STORE', 'MEDIA_STORE_ALSO_READ', 'ERASURE_LIST'] as const
const loadAll = () => loadSettings(['DATABASE_URL', 'LOG_LEVEL', ...storeSettings])

const examplesMax = 5
const accountsShown = 20
const hourMs = 3_600_000

const say = (lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`)
const sayJson = (value: unknown) => say([JSON.stringify(value)])

/** Shows the progress of `work` until it ends. */
const withProgress = async <Result>(
  work: (progress: { signal: AbortSignal; onProgress: (text: string) => void }) => Promise<Result>,
): Promise<Result> => {
  const line = createProgressLine()
  return work({ signal: untilStopped(), onProgress: line.show }).finally(line.clear)
}

const showKeys = (title: string, keys: string[]): string[] =>
  keys.length === 0
    ? []
    : [
        title,
        ...keys.slice(0, examplesMax).map((key) => `  ${key}`),
        ...(keys.length > examplesMax ? ['  …'] : []),
      ]

/** Returns the exit code: 1 if a check fails. */
export const check = async ({ isJson }: { isJson: boolean }): Promise<number> => {
  const stores = await checkStores(loadSettings([...storeSettings]))
  const isUsable = stores.every(({ checks }) => checks.every(({ problem }) => problem === undefined))
  if (isJson) {
    sayJson({
      ok: isUsable,
      stores: stores.map(({ setting, place, checks }) => ({
        ...{ setting, place },
        checks: checks.map(({ name, problem, warning }) => ({
          ...{ name, ok: problem === undefined, ...problem },
          ...(warning !== undefined && { warning }),
        })),
      })),
    })
  } else {
    say(
      stores.flatMap(({ setting, place, checks }) => [
        `${setting}: ${place}`,
        ...checks.map(({ name, detail, problem, warning }) => {
          if (problem !== undefined) return showCheck(failed(name, problem.cause, problem.fix))
          return showCheck(
            warning === undefined ? ok(name, detail) : warned(name, warning.cause, warning.fix),
          )
        }),
      ]),
    )
  }
  return isUsable ? 0 : 1
}

const showTable = (rows: string[][]): string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  )
}

const showAmount = ({ objects, sizeBytes }: Amount): [string, string] => [
  String(objects),
  formatBytes(sizeBytes),
]

const sum = (amounts: Amount[]): Amount => ({
  objects: amounts.reduce((total, { objects }) => total + objects, 0),
  sizeBytes: amounts.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
})

/** Sums up the rows by a trait, in the order of their first row. */
const groupUsage = (rows: StorageUsage['rows'], nameOf: (row: StorageUsage['rows'][number]) => string) =>
  [...Map.groupBy(rows, nameOf)].map(([name, group]): [string, Amount] => [name, sum(group)])

const bySize = ([, one]: [string, Amount], [, other]: [string, Amount]) => other.sizeBytes - one.sizeBytes

const showUsage = ({ rows, folders }: StorageUsage): string[] => {
  const hasOther = folders.some(({ otherListed }) => otherListed !== undefined)
  const accounts = groupUsage(rows, ({ accountId, accountName }) =>
    `${accountId} ${cleanText(accountName ?? '')}`.trim(),
  )
  const shown = accounts.toSorted(bySize).slice(0, accountsShown)
  const totals = {
    ...{ folder: 'total', recorded: sum(folders.map(({ recorded }) => recorded)) },
    listed: sum(folders.map(({ listed }) => listed)),
    otherListed: sum(folders.flatMap(({ otherListed = [] }) => otherListed)),
  }
  const otherTitle = hasOther ? ['also read', ''] : []
  return [
    ...showTable([
      ['folder', 'database', '', 'store', '', ...otherTitle],
      ...[...folders, totals].map(({ folder, recorded, listed, otherListed }) => [
        ...[folder, ...showAmount(recorded), ...showAmount(listed)],
        ...(hasOther && otherListed !== undefined ? showAmount(otherListed) : []),
      ]),
    ]),
    '',
    ...showTable([['kind', 'objects', 'size'], ...groupUsage(rows, ({ kind }) => kind).map(showGroup)]),
    '',
    ...showTable([['age', 'objects', 'size'], ...groupUsage(rows, ({ age }) => age).map(showGroup)]),
    '',
    ...showTable([['account', 'objects', 'size'], ...shown.map(showGroup)]),
    ...(accounts.length > accountsShown ? [`… and ${accounts.length - accountsShown} more accounts`] : []),
  ]
}

const showGroup = ([name, amount]: [string, Amount]): string[] => [name, ...showAmount(amount)]

const presentAmount = ({ objects, sizeBytes }: Amount) => ({ objects, size_bytes: sizeBytes })

export const usage = async ({ isJson }: { isJson: boolean }): Promise<void> => {
  const settings = loadAll()
  const measured = await withProgress((progress) => measureStores(settings, progress))
  if (!isJson) return void say(showUsage(measured))
  sayJson({
    folders: measured.folders.map(({ folder, recorded, listed, otherListed }) => ({
      ...{ folder, database: presentAmount(recorded), store: presentAmount(listed) },
      ...(otherListed !== undefined && { also_read: presentAmount(otherListed) }),
    })),
    usage: measured.rows.map(({ accountId, accountName, kind, age, ...amount }) => ({
      ...{ account_id: accountId, account_name: accountName, kind, age },
      ...presentAmount(amount),
    })),
  })
}

const showDeleted = (isDeleting: boolean, deleted: number, isForeign: boolean): string => {
  if (!isDeleting) return 'Nothing was changed. Delete the objects without a row with --delete.'
  return isForeign
    ? 'Nothing was deleted: most objects have no row, so the store probably belongs to another database. Correct the settings.'
    : `Deleted ${deleted} objects.`
}

/** Returns the exit code: 1 if objects are missing, or were not deleted because most have no row. */
export const orphans = async ({
  isDeleting,
  hoursMin,
  isJson,
}: {
  isDeleting: boolean
  hoursMin: number
  isJson: boolean
}): Promise<number> => {
  const settings = loadAll()
  const minAgeMs = hoursMin * hourMs
  const found = await withProgress((progress) => compareStores(settings, { minAgeMs, isDeleting }, progress))
  const { missing, known, young, deleted, isForeign, isWhole } = found
  if (isJson)
    sayJson({
      ...{ orphans: found.orphans, known, young, missing, deleted },
      ...{ is_foreign: isForeign, is_whole: isWhole },
    })
  else {
    say([
      `objects without a row: ${found.orphans.length}; with one: ${known}; younger than ${hoursMin} h, not compared: ${young}`,
      ...showKeys('such as', found.orphans),
      ...(isWhole
        ? []
        : ['There may be more: the rest of the store was not listed. Run this command again.']),
      `rows without an object: ${missing.length}`,
      ...showKeys('such as', missing),
      ...(missing.length > 0 ? ['Look for these objects in backups: kinora restore copies them back.'] : []),
      ...(found.orphans.length > 0 ? [showDeleted(isDeleting, deleted, isForeign)] : []),
    ])
  }
  return missing.length > 0 || (isDeleting && isForeign) ? 1 : 0
}

/** Returns the exit code: 1 if objects are missing or damaged. */
export const migrate = async ({ isReadBack }: { isReadBack: boolean }): Promise<number> => {
  const startedMs = performance.now()
  const settings = loadAll()
  const { migration, audit } = await withProgress((progress) =>
    migrateToCurrent(settings, { isAudited: isReadBack }, progress),
  )
  const { checked, copied, copiedBytes } = migration
  const missing = [...new Set([...migration.missing, ...(audit?.missing ?? [])])]
  const damaged = [...new Set([...migration.damaged, ...(audit?.damaged ?? [])])]
  const isComplete = missing.length === 0 && damaged.length === 0
  say([
    `copied: ${copied} objects, ${formatBytes(copiedBytes)}; checked: ${checked} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`,
    ...(audit === undefined ? [] : [`read back: ${audit.files} objects, ${formatBytes(audit.sizeBytes)}`]),
    ...showKeys(`missing in both stores: ${missing.length}`, missing),
    ...showKeys(`damaged, not copied: ${damaged.length}`, damaged),
    isComplete
      ? 'The media store has all objects. Remove MEDIA_STORE_ALSO_READ and restart the roles.'
      : 'Restore these objects from a backup, or delete their tasks. Then run this command again.',
  ])
  return isComplete ? 0 : 1
}
