import type { Operation } from '@kinora/contract/operation'

import type { Call, Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'

/**
 * The content of an audit entry. It must not contain secrets, their hashes, or what customers send. `audited-value.ts`
 * leaves names out of accounts, keys and movements.
 */
export interface Change {
  /** The operation's id. */
  action: string
  target: string | null
  before?: unknown
  after?: unknown
}

/** The part of a call that changes something on behalf of an operator. */
export interface Auditing extends Pick<Call, 'path' | 'operator'> {
  /**
   * Writes an audit entry in the transaction of the change. It serializes transactions from here to their commit, so
   * call it last, except for checks that must see every earlier change.
   */
  audit: (database: Database, change: Change) => Promise<void>
}

/** Handles an operation that writes to the audit log. */
export type AdminHandler<O extends Operation> = (
  call: Call<O> & Pick<Auditing, 'audit'>,
) => ReturnType<Handler<O>>
