/** Commands for operators. */
import { operatorKeyDays, operatorRoles } from '@kinora/contract/operator-key'

import { defineCommand } from '../frame/command.ts'
import { UsageError } from '../frame/usage-error.ts'
import { operatorOptions } from './operator-options.ts'

const readDirectory = (directory: string | undefined): string => {
  if (directory !== undefined && directory !== '') return directory
  throw new UsageError('<directory> is missing. Name one, such as /var/backups/kinora.')
}

const json = { type: 'flag', summary: 'print one line of JSON' } as const

export const operateCommands = [
  defineCommand({
    words: 'admin create',
    group: 'Operate',
    summary: 'Create an operator key directly in the database and print it once.',
    options: {
      name: { type: 'text', default: 'operator', summary: 'a name for the key' },
      role: {
        type: 'text',
        default: 'admin',
        summary: `what the key may do: ${operatorRoles.join(', ')}`,
      },
      expires: {
        type: 'text',
        value: 'days',
        default: String(operatorKeyDays),
        summary: 'days until the key expires, or "never"',
      },
    },
    example: 'kinora admin create --name alice --role read',
    run: async ({ name, role, expires }) => {
      const { createOperatorKey } = await import('../admin.ts')
      await createOperatorKey({ name, role, expires })
    },
  }),
  defineCommand({
    words: 'admin login',
    group: 'Operate',
    summary: 'Open the web console in the browser, signed in with the key of an operator.',
    details:
      'Prints a link that signs in once, within 5 minutes, and opens it if this is a terminal of a desktop. The session also has the key of a customer if the environment has one for the same address.',
    options: { noOpen: { type: 'flag', summary: 'only print the link' }, ...operatorOptions },
    example: 'kinora admin login',
    prints: 'createConsoleLink',
    run: async (input) => (await import('../operator/login.ts')).openConsole(input),
  }),
  defineCommand({
    words: 'audit',
    group: 'Operate',
    summary: 'Audit the ledger. Exits with 1 if an invariant is violated.',
    options: { json },
    example: 'kinora audit',
    prints: 'the invariants and what violates them',
    run: async ({ json }) => {
      const { audit } = await import('../audit.ts')
      return audit({ isJson: json })
    },
  }),
  defineCommand({
    words: 'retention',
    group: 'Operate',
    summary: 'Delete expired data now. Workers also do this on a schedule.',
    options: { dryRun: { type: 'flag', summary: 'list what would be deleted and change nothing' } },
    example: 'kinora retention --dry-run',
    run: async ({ dryRun }) => {
      const { clear, showExpired } = await import('../retention.ts')
      await (dryRun ? showExpired() : clear())
    },
  }),
  defineCommand({
    words: 'backup',
    group: 'Operate',
    summary:
      'Back up the database and the media while the service runs. Exits with 1 if media files are missing.',
    arguments: {
      directory: {
        summary:
          'where to create the directory of the backup; other backups in it save copying (default: BACKUP_DIRECTORY)',
        isOptional: true,
      },
    },
    example: 'kinora backup /var/backups/kinora',
    run: async ({ directory }, { version }) => {
      const { backup } = await import('../backup.ts')
      const { loadSettings } = await import('@kinora/gateway/config')
      const chosen = directory ?? loadSettings(['BACKUP_DIRECTORY']).BACKUP_DIRECTORY
      return backup(readDirectory(chosen), version)
    },
  }),
  defineCommand({
    words: 'restore',
    group: 'Operate',
    summary:
      'Restore a backup into an empty database and MEDIA_DIRECTORY, repeat the erasures of accounts, and audit the result. Exits with 1 if it is not sound.',
    arguments: { directory: { summary: 'the directory of one backup' } },
    options: { withoutErasures: { type: 'flag', summary: 'restore erased accounts too' } },
    example: 'kinora restore /var/backups/kinora/2026-11-19',
    run: async ({ directory, withoutErasures }) => {
      const { restore } = await import('../restore.ts')
      return restore(directory, { repeatsErasures: !withoutErasures })
    },
  }),
  defineCommand({
    words: 'archive',
    group: 'Operate',
    summary: 'Move the ledger and the usage of closed years to compressed files.',
    arguments: {
      directory: {
        summary: 'where to create the directory of the archive; needed with --execute',
        isOptional: true,
      },
    },
    options: {
      before: {
        type: 'number',
        value: 'year',
        min: 1000,
        max: 9999,
        isRequired: true,
        summary: 'the first year that stays in the database',
      },
      execute: {
        type: 'flag',
        summary: 'write the archive and remove what is in it from the database; without it, only report',
      },
    },
    example: 'kinora archive --before 2026 --execute /var/archive',
    run: async ({ directory, before, execute }, { version }) => {
      const { archive, showArchive } = await import('../archive.ts')
      return execute ? archive(readDirectory(directory), before, version) : showArchive(before)
    },
  }),
  defineCommand({
    words: 'storage check',
    group: 'Operate',
    summary: 'Use every function of the media store once. Exits with 1 if one fails.',
    options: { json },
    example: 'kinora storage check',
    prints: 'the functions and how each went',
    run: async ({ json }) => {
      const { check } = await import('../storage.ts')
      return check({ isJson: json })
    },
  }),
  defineCommand({
    words: 'storage usage',
    group: 'Operate',
    summary: 'Show the stored media by account, kind and age, and compare it with the list of the store.',
    options: { json },
    example: 'kinora storage usage',
    prints: 'the sums by account, kind and age',
    run: async ({ json }) => {
      const { usage } = await import('../storage.ts')
      await usage({ isJson: json })
    },
  }),
  defineCommand({
    words: 'storage orphans',
    group: 'Operate',
    summary:
      'List objects without a row and rows without an object. Exits with 1 if rows have lost their objects.',
    options: {
      delete: {
        type: 'flag',
        summary: 'delete the objects without a row; without it, nothing is changed',
      },
      olderThan: {
        type: 'number',
        value: 'hours',
        min: 1,
        default: '24',
        summary: 'ignore younger objects, whose row may follow; at least 1',
      },
      json,
    },
    example: 'kinora storage orphans --older-than 48',
    prints: 'the objects and the rows',
    run: async ({ delete: isDeleting, olderThan, json }) => {
      const { orphans } = await import('../storage.ts')
      return orphans({ isDeleting, hoursMin: olderThan, isJson: json })
    },
  }),
  defineCommand({
    words: 'storage migrate',
    group: 'Operate',
    summary:
      'Copy what only MEDIA_STORE_ALSO_READ has into the media store, while the service runs. Can be stopped and run again. Exits with 1 if objects are missing or damaged.',
    options: {
      readBack: { type: 'flag', summary: 'then read all objects and compare them with the database' },
    },
    example: 'kinora storage migrate --read-back',
    run: async ({ readBack }) => {
      const { migrate } = await import('../storage.ts')
      return migrate({ isReadBack: readBack })
    },
  }),
]
