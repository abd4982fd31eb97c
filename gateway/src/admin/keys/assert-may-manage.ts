import type { Operator } from '../../auth/caller.ts'
import { assertRole } from '../../auth/operator-role.ts'
import type { KeyRecord } from './key-record-store.ts'

/** Operator keys belong to the role `admin`. Otherwise another role could take over a key with more rights than its own. */
export const assertMayManage = (operator: Operator, { kind }: Pick<KeyRecord, 'kind'>): void => {
  if (kind === 'admin') assertRole(operator, ['admin'])
}
