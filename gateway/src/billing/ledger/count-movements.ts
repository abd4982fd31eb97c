import { count } from '../../platform/metrics/metrics.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Movement } from '../money/money.ts'

const microsPerUnit = 1_000_000

/** Counts the money that movements have moved, once they are committed. */
export const countMovements = ({ afterCommit }: Database, movements: Movement[]): void => {
  const countAll = () => {
    for (const { kind, amountMicros } of movements)
      count('kinora.money.moved', { movement: kind }, Math.abs(amountMicros) / microsPerUnit)
  }
  if (afterCommit === undefined) countAll()
  else afterCommit(countAll)
}
