/**
 * The manifest of a backup. It is written last, so a directory without one is an incomplete backup. Members have snake case
 * like all JSON that Kinora writes for others.
 */
import { createHmac } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'

import type { Secret } from '../platform/secret.ts'

/** The layout of a backup directory. A program refuses newer ones. */
export const layoutVersion = 1

export const manifestName = 'manifest.json'
export const dumpName = 'database.dump'
export const mediaName = 'media'

const Count = Type.Integer({ minimum: 0 })

const manifestSchema = Type.Object({
  layout: Type.Literal(layoutVersion),
  /** The version of the program that made the backup. */
  kinora_version: Type.String(),
  /** Everything that was committed before this time is in the backup, and nothing that was committed after it. */
  snapshot_at: Type.String(),
  migrations: Type.Array(Type.String()),
  database: Type.Object({
    size_bytes: Count,
    sha256: Type.String(),
    server_major: Count,
    pg_dump_major: Count,
    accounts: Count,
    tasks: Count,
    open_tasks: Count,
    ledger_entries: Count,
  }),
  media: Type.Object({
    files: Count,
    size_bytes: Count,
    /** Files that the database refers to and that are not in the backup. */
    missing: Type.Array(
      Type.Object({
        storage_key: Type.String(),
        reason: Type.Union([Type.Literal('expired'), Type.Literal('deleted'), Type.Literal('lost')]),
      }),
    ),
  }),
  /** Fingerprints of the secrets without which parts of the database are unusable, by setting. */
  secrets: Type.Record(Type.String(), Type.Array(Type.String())),
})

export type Manifest = Static<typeof manifestSchema>
export type MissingFile = Manifest['media']['missing'][number]

const secretSettings = ['KEY_HASH_SECRETS', 'LINK_SECRETS', 'CREDENTIAL_SECRETS', 'AUDIT_SECRETS'] as const

/** The secrets that the database depends on. Their values are not in the backup. */
export type BackupSecrets = Record<(typeof secretSettings)[number], Secret[]>

const fingerprintOf = (secret: Secret): string =>
  createHmac('sha256', secret.reveal()).update('kinora backup').digest('hex').slice(0, 16)

export const fingerprintsOf = (secrets: BackupSecrets): Manifest['secrets'] =>
  Object.fromEntries(secretSettings.map((name) => [name, secrets[name].map(fingerprintOf)]))

/** The settings that lack a secret which was in use when the backup was made. */
export const settingsWithoutSecret = (manifest: Manifest, secrets: BackupSecrets): string[] => {
  const present = fingerprintsOf(secrets)
  return Object.entries(manifest.secrets).flatMap(([name, needed]) =>
    needed.every((each) => present[name]?.includes(each) === true) ? [] : name,
  )
}

export const writeManifest = async (directory: string, manifest: Manifest): Promise<void> => {
  const path = join(directory, manifestName)
  const file = await open(`${path}.partial`, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(manifest, undefined, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.partial`, path)
}

/** The manifest; undefined if the directory has none. Throws if it cannot be used by this program. */
export const readManifest = async (directory: string): Promise<Manifest | undefined> => {
  const path = join(directory, manifestName)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw new Error(`${path} is damaged: it is not JSON. Use another backup.`)
  }
  const { layout, kinora_version: version } = content as { layout?: unknown; kinora_version?: unknown }
  if (typeof layout === 'number' && layout > layoutVersion) {
    throw new Error(
      `The backup was made by a newer version of Kinora (${String(version)}). Restore it with that version.`,
    )
  }
  if (!Value.Check(manifestSchema, content)) {
    const [problem] = Value.Errors(manifestSchema, content)
    throw new Error(
      `${path} is damaged: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}. Use another backup.`,
    )
  }
  return content
}
