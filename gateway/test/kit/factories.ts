import { randomBytes } from 'node:crypto'

import { insertAccount, insertKey, type NewKey } from '../../src/auth/key-store.ts'
import { createKeyText, hashKey, hintOf, type KeyKind } from '../../src/auth/key-text.ts'
import { openWallet, postMovements, upsertSubscription } from '../../src/billing/ledger/ledger-store.ts'
import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import { Secret } from '../../src/platform/secret.ts'
import type { MediaStore } from '../../src/storage/port/media-store.ts'
import { insertStoredFiles } from '../../src/storage/stored-file-store.ts'
import { createFinishTask } from '../../src/videos/lifecycle/settle-video.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import type { Ending } from '../../src/videos/task.ts'
import { putBytes } from './stored-media.ts'

export const keySecret = 'a secret for hashing keys in tests only'
export const auditSecret = 'a secret for hashing the audit log in tests'
export const linkSecret = 'a secret for signing links in tests only'

/** An account with a pay-as-you-go balance, in whole currency units. */
export const createAccount = async (
  postgres: Postgres,
  { balance = 1000 }: { balance?: number } = {},
): Promise<string> => {
  const accountId = uuidV7()
  await insertAccount(postgres, { id: accountId, name: `account ${accountId}` })
  await fill(postgres, accountId, 'payg', balance)
  return accountId
}

const fill = async (
  postgres: Postgres,
  accountId: string,
  wallet: 'payg' | 'subscription',
  amount: number,
) => {
  const day = new Date().toISOString().slice(0, 10)
  const kind = wallet === 'payg' ? 'top_up' : 'grant'
  await openWallet(postgres, accountId, wallet)
  await postMovements(postgres, [
    { kind, accountId, wallet, taskId: null, day, amountMicros: amount * 1_000_000 },
  ])
}

/** Adds a subscription with a quota to the account. */
export const subscribe = async (
  postgres: Postgres,
  accountId: string,
  { quota = 1000, endsAt = new Date(Date.now() + 86_400_000) }: { quota?: number; endsAt?: Date } = {},
): Promise<void> => {
  await upsertSubscription(postgres, { accountId, cycleEndsAt: endsAt, endsAt })
  await fill(postgres, accountId, 'subscription', quota)
}

export interface TestKey {
  id: string
  text: string
}

export const createKey = async (
  postgres: Postgres,
  accountId: string,
  {
    kind = 'payg',
    secret = keySecret,
    ...traits
  }: Partial<NewKey> & { kind?: KeyKind; secret?: string } = {},
): Promise<TestKey> => {
  const text = createKeyText(kind)
  const id = uuidV7()
  await insertKey(postgres, {
    name: 'a key of a test',
    limits: { create: 100_000, read: 100_000, audio: 100_000, chat: 100_000 },
    ...(kind === 'admin' && { role: 'admin' }),
    ...traits,
    id,
    accountId: kind === 'admin' ? null : accountId,
    kind,
    hash: hashKey(text, new Secret(secret)),
    hint: hintOf(text),
  })
  return { id, text }
}

/** Ends a task like its workflow would, without a provider or an engine. */
export const endTask = async (postgres: Postgres, taskId: string, ending: Ending): Promise<void> => {
  const day = dayOfTaskId(taskId) ?? ''
  const ended = await createFinishTask(postgres)({ day, id: taskId, ending })
  if (ended === undefined) throw new Error(`${taskId} has already ended`)
}

export interface TestVideo {
  mediaId: string
  storageKey: string
  bytes: Buffer
  expiresAt: Date
}

/** Completes a task with a video of the given or random bytes in the gateway's media store. */
export const completeTask = async (
  { database, mediaStore }: { database: { postgres: Postgres }; mediaStore: MediaStore },
  accountId: string,
  taskId: string,
  {
    expiresAt = new Date(Date.now() + 86_400_000),
    bytes = randomBytes(1_000),
  }: { expiresAt?: Date; bytes?: Buffer } = {},
): Promise<TestVideo> => {
  const mediaId = uuidV7()
  const storageKey = `videos/test/${mediaId}.mp4`
  const stored = await putBytes(mediaStore, storageKey, bytes)
  await insertStoredFiles(database.postgres, [
    {
      id: mediaId,
      accountId,
      taskId,
      kind: 'video',
      storageKey,
      contentType: 'video/mp4',
      ...stored,
      width: 1280,
      height: 720,
      durationMs: 4_000,
      expiresAt,
    },
  ])
  await endTask(database.postgres, taskId, { kind: 'completed', mediaId })
  return { mediaId, storageKey, bytes, expiresAt }
}
