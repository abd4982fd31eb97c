/**
 * What the audit log contains of a value. It is never deleted or changed, so it refers to accounts, customers and operators
 * by id only: names, reasons, references and addresses are in their own tables, where they can be erased.
 */
import type { Account } from '@kinora/contract/operations/admin/accounts'
import type { Key } from '@kinora/contract/operations/admin/keys'
import type { CreatedRefund } from '@kinora/contract/operations/admin/ledger'
import type { WebhookEndpoint } from '@kinora/contract/operations/webhook-fields'

/** Which members of a resource the log contains. A new member of one of them needs a decision here. */
const account: Record<keyof Account, boolean> = {
  ...{ id: true, object: true, name: false, status: true, payment_state: true, spend_cap_micros: true },
  ...{ concurrency: true, media_retention_days: true, task_retention_days: true, currency: true },
  ...{ balances: true, subscription: true, created_at: true, erased_at: true },
}

const key: Record<keyof Key, boolean> = {
  ...{ id: true, object: true, account_id: true, account_name: false, kind: true, role: true, hint: true },
  ...{
    name: false,
    scopes: true,
    models: true,
    addresses: false,
    expires_at: true,
    disabled: true,
    quota_micros: true,
  },
  ...{ budgets: true, currency: true, requests_per_minute: true, limits: true, concurrency: true },
  ...{ dialect: true, used_micros: true, last_used_at: true, created_at: true },
  budget_usage: true,
  previous_secret_expires_at: true,
}

const movement: Record<keyof CreatedRefund, boolean> = {
  ...{ id: true, object: true, account_id: true, account_name: false, kind: true, task_id: true },
  ...{ wallet: true, amount_micros: true, currency: true, actor: true, reason: false, reference: false },
  ...{ created_at: true, balance: true, captured_micros: true, refunded_micros: true },
}

const webhookEndpoint: Record<keyof WebhookEndpoint, boolean> = {
  ...{ id: true, object: true, url: false, name: false, events: true, payload: true, concurrency: true },
  ...{ state: true, disabled_reason: true, failures: true, failing_since: true, secret_hint: true },
  ...{ previous_secret_expires_at: true, created_at: true },
}

/** By the `object` of a value. All others are configuration of the operator. */
const members = new Map<unknown, Record<string, boolean>>(
  Object.entries({ account, key, movement, webhook_endpoint: webhookEndpoint }),
)

type Mapping = Record<string, unknown>

const isMapping = (value: unknown): value is Mapping => typeof value === 'object' && value !== null

const auditedValue = (value: unknown): unknown => {
  const kept = isMapping(value) ? members.get(value['object']) : undefined
  if (kept === undefined) return value
  return Object.fromEntries(Object.entries(value as Mapping).filter(([name]) => kept[name] === true))
}

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The values of a change as the log contains them. Members that it leaves out are named if they were changed. */
export const auditedValues = ({
  before,
  after,
}: {
  before: unknown
  after: unknown
}): { before: unknown; after: unknown } => {
  const shown = auditedValue(after)
  if (shown === after || !isMapping(before) || !isMapping(after))
    return { before: auditedValue(before), after: shown }
  const changed = Object.keys(after).filter(
    (name) => !Object.hasOwn(shown as Mapping, name) && !isEqual(before[name], after[name]),
  )
  return {
    before: auditedValue(before),
    after:
      changed.length === 0 ? shown : { ...(shown as Mapping), changed_without_value: changed.toSorted() },
  }
}
