/** Encrypts the secrets of webhooks under the newest configured secret, so that older ones can be removed from the settings. */
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { openSecret, sealSecret } from '../../platform/sealed-secret.ts'
import type { Secret } from '../../platform/secret.ts'
import {
  listSealedSecrets,
  replaceSealedSecrets,
  sealedSecretTables,
  type SealedSecrets,
} from './sealed-secret-store.ts'
import { webhookSecretOwner } from './webhook-secret.ts'

const rowsAtOnce = 500
const beforeAllIds = '00000000-0000-0000-0000-000000000000'

/** The same secret under the newest one; undefined if it is so already, or if no configured secret opens it. */
const reseal = (secrets: Secret[], accountId: string, sealed: Buffer): Buffer | undefined => {
  const owner = webhookSecretOwner(accountId)
  if (openSecret(secrets.slice(0, 1), owner, sealed) !== undefined) return undefined
  const plain = openSecret(secrets.slice(1), owner, sealed)
  return plain && sealSecret(secrets, owner, plain)
}

/** Returns how many rows it changed. */
export const resealWebhookSecrets = async (
  { database, secrets, log }: { database: Database; secrets: Secret[]; log: Log },
  stopping: AbortSignal,
): Promise<number> => {
  let changed = 0
  if (secrets.length < 2) return changed
  for (const table of sealedSecretTables) {
    let rows: SealedSecrets[] = []
    do {
      rows = await listSealedSecrets(database, table, rows.at(-1)?.id ?? beforeAllIds, rowsAtOnce)
      for (const row of rows) {
        const secret = reseal(secrets, row.accountId, row.secret)
        const previous = row.previousSecret && reseal(secrets, row.accountId, row.previousSecret)
        if (secret === undefined && !previous) continue
        await replaceSealedSecrets(database, table, row, {
          secret: secret ?? row.secret,
          previousSecret: previous ?? row.previousSecret,
        })
        changed += 1
      }
    } while (rows.length === rowsAtOnce && !stopping.aborted)
  }
  if (changed > 0) log.info({ count: changed }, 'webhook.secrets-encrypted-again')
  return changed
}
