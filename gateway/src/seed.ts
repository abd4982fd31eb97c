/** Creates the first keys: an operator's key, and for development an account with keys of every kind. */
import { keyScopes } from '@kinora/contract/key-scope'
import type { OperatorRole } from '@kinora/contract/operator-key'

import { createAuditLog } from './admin/audit-log/audit.ts'
import { secondsOf } from './admin/unix-time.ts'
import { findAccountByName, insertAccount, insertKey, type NewKey } from './auth/key-store.ts'
import { createKeyText, hashKey, hintOf, type KeyKind } from './auth/key-text.ts'
import { openWallet, postMovements, upsertSubscription } from './billing/ledger/ledger-store.ts'
import { ConfigError, type Config } from './config.ts'
import { uuidV7 } from './platform/ids/uuid.ts'
import { createLog } from './platform/log.ts'
import { assertMigrated } from './platform/migrate.ts'
import { assertUsable, connectPostgres, type Postgres } from './platform/postgres.ts'
import { referenceModels } from './provider-config/reference-models.ts'
import { recordCurrency } from './settings/currency-store.ts'

export type SeedSettings = Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL' | 'KEY_HASH_SECRETS'>

const developmentAccount = 'development'
/** The balance of the development account. */
export const developmentMicros = 1_000_000_000_000

const withPostgres = async <Result>(
  config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>,
  work: (postgres: Postgres) => Promise<Result>,
): Promise<Result> => {
  const log = createLog({ level: config.LOG_LEVEL }, 'seed')
  const postgres = connectPostgres({ url: config.DATABASE_URL, connectionsMax: 2 }, log)
  try {
    await assertUsable(postgres, config.DATABASE_URL)
    await assertMigrated(postgres)
    return await work(postgres)
  } finally {
    await postgres.close()
  }
}

const newestSecret = (config: Pick<Config, 'KEY_HASH_SECRETS'>) => {
  const [secret] = config.KEY_HASH_SECRETS
  if (secret === undefined) throw new Error('KEY_HASH_SECRETS must hold at least one secret.')
  return secret
}

export interface NewOperatorKey {
  name: string
  role: OperatorRole
  /** Undefined for a key that does not expire. */
  expiresAt: Date | undefined
  /** The number of the user of the operating system who creates the key, for the audit log. */
  userId: number | undefined
}

/** Creates an operator's key directly in the database. Its text is not stored. */
export const createOperatorKey = (
  config: SeedSettings & Pick<Config, 'AUDIT_SECRETS'>,
  { name, role, expiresAt, userId }: NewOperatorKey,
): Promise<string> =>
  withPostgres(config, async (postgres) => {
    const { append } = createAuditLog(config.AUDIT_SECRETS)
    const text = createKeyText('admin')
    const id = uuidV7()
    const key = { kind: 'admin', role, name, hint: hintOf(text) } as const
    await postgres.transaction(async (database) => {
      await insertKey(database, {
        ...key,
        id,
        accountId: null,
        hash: hashKey(text, newestSecret(config)),
        ...(expiresAt !== undefined && { expiresAt }),
      })
      await append(
        database,
        { actor: userId === undefined ? 'command line' : `command line: uid ${userId}`, requestId: null },
        {
          action: 'createOperatorKey',
          target: id,
          after: {
            id,
            object: 'key',
            ...key,
            expires_at: expiresAt === undefined ? null : secondsOf(expiresAt),
          },
        },
      )
    })
    return text
  })

export const developmentKeyNames = [
  'payg',
  'subscription',
  'expired',
  'restricted',
  'addressBound',
  'exhausted',
  'limited',
  'admin',
] as const
export type DevelopmentKeys = Record<(typeof developmentKeyNames)[number], string>

const kindOf = (name: keyof DevelopmentKeys): KeyKind =>
  name === 'admin' || name === 'subscription' ? name : 'payg'

export const createDevelopmentKeys = (): DevelopmentKeys =>
  Object.fromEntries(
    developmentKeyNames.map((name) => [name, createKeyText(kindOf(name))]),
  ) as DevelopmentKeys

// An address reserved for documentation, from which no request can come.
const documentationAddress = '192.0.2.1'

const generousLimits = { create: 6_000, read: 60_000, audio: 6_000, chat: 6_000 }

const [firstOfFamilyB = ''] = Object.keys(referenceModels).filter(
  (id) => referenceModels[id]?.['family'] === 'B',
)

const traits: Record<keyof DevelopmentKeys, Partial<NewKey>> = {
  payg: { limits: generousLimits, scopes: [...keyScopes] },
  subscription: { limits: generousLimits, scopes: [...keyScopes] },
  expired: { expiresAt: new Date('2020-01-01T00:00:00Z') },
  restricted: { models: [firstOfFamilyB] },
  addressBound: { addresses: [documentationAddress] },
  exhausted: { quotaMicros: 0 },
  limited: { requestsPerMinute: 5 },
  admin: { role: 'admin' },
}

/** Creates the development account and these keys unless they exist. */
export const seedDevelopment = (
  config: SeedSettings & Pick<Config, 'CURRENCY'>,
  keys: DevelopmentKeys,
): Promise<void> =>
  withPostgres(config, async (postgres) => {
    const problem = await recordCurrency(postgres, config.CURRENCY, { mayChange: true })
    if (problem !== undefined) throw new ConfigError(problem)
    await postgres.transaction(async (database) => {
      let accountId = await findAccountByName(database, developmentAccount)
      if (accountId === undefined) {
        accountId = uuidV7()
        await insertAccount(database, { id: accountId, name: developmentAccount })
        const farFuture = new Date('2099-01-01T00:00:00Z')
        await upsertSubscription(database, { accountId, cycleEndsAt: farFuture, endsAt: farFuture })
        await openWallet(database, accountId, 'payg')
        await openWallet(database, accountId, 'subscription')
        const day = new Date().toISOString().slice(0, 10)
        await postMovements(database, [
          { kind: 'top_up', accountId, wallet: 'payg', taskId: null, day, amountMicros: developmentMicros },
          {
            kind: 'grant',
            accountId,
            wallet: 'subscription',
            taskId: null,
            day,
            amountMicros: developmentMicros,
          },
        ])
      }
      for (const name of developmentKeyNames) {
        const kind = kindOf(name)
        await insertKey(database, {
          id: uuidV7(),
          accountId: kind === 'admin' ? null : accountId,
          kind,
          name: `development ${name}`,
          hash: hashKey(keys[name], newestSecret(config)),
          hint: hintOf(keys[name]),
          ...traits[name],
        })
      }
    })
  })
