/** Carries erasures out, and issues their certificates. */
import { readClock } from '../billing/ledger/movement-store.ts'
import type { Secret } from '../platform/secret.ts'
import { makeCertificate } from './certificate.ts'
import { countJobRemovals, countRemaining } from './content-store.ts'
import { eraseContent, type EraseDependencies } from './erase-content.ts'
import { findErasure, finishErasure, markEmptied, unfinishedErasures, type Erasure } from './erasure-store.ts'

export interface ErasureDependencies extends EraseDependencies {
  auditSecrets: Secret[]
}

const advance = async (
  dependencies: ErasureDependencies,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<void> => {
  const { postgres, log, auditSecrets } = dependencies
  const { accountId, emptiedAt, isSettled, isOverdue } = erasure
  if (emptiedAt !== null && !isSettled) return
  await eraseContent(dependencies, accountId, signal)
  if (signal.aborted) return
  const remaining = await countRemaining(postgres, accountId)
  if (Object.keys(remaining).length > 0) return log.info({ accountId, remaining }, 'erasure.continues')
  if (!isSettled) return markEmptied(postgres, accountId)
  if (!isOverdue && (await countJobRemovals(postgres, accountId)) > 0) return
  const finishedAt = await readClock(postgres)
  await postgres.transaction(async (database) => {
    const current = await findErasure(database, accountId)
    if (current === undefined) return
    const certificate = await makeCertificate(database, current, { finishedAt, secrets: auditSecrets })
    await finishErasure(database, accountId, { finishedAt, certificate })
  })
  log.info({ accountId }, 'erasure.finished')
}

/** Works on every unfinished erasure once. The failure of one does not stop the others. */
export const workOnErasures = async (
  dependencies: ErasureDependencies,
  signal: AbortSignal,
): Promise<void> => {
  for (const erasure of await unfinishedErasures(dependencies.postgres)) {
    if (signal.aborted) return
    try {
      await advance(dependencies, erasure, signal)
    } catch (error) {
      dependencies.log.warn({ err: error, accountId: erasure.accountId }, 'erasure.failed')
    }
  }
}
