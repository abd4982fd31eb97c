// Generated from the contract by `npm run generate`. Do not edit.
import type { EventStream } from '../event-stream.ts'
import type { List } from '../list.ts'
import type { MediaFile } from '../media-file.ts'
import type { RequestOptions } from '../transport.ts'

export type AccountBody = {
/** Name of the account. */
name: string
/** Whether the keys of the account work. */
status?: "active" | "suspended"
/** Set `failed` after a declined payment: requests that exceed the balance then get `payment_failed` instead of `insufficient_balance`. */
payment_state?: "ok" | "failed"
/** Maximum amount to spend per calendar month (UTC); null for no limit. In millionths of `currency`. */
spend_cap_micros?: number | null
/** Tasks that the account may run at once; further tasks are queued. Null for the default. */
concurrency?: number | null
/** Days until media is deleted; null for the default. */
media_retention_days?: number | null
/** Days until tasks are deleted; null for the default. */
task_retention_days?: number | null
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
export type CreateAccountParams = AccountBody
export type Account = {
/** Id of the account. */
id: string
/** The type of this object: always `account`. */
object: "account"
/** Name of the account. */
name: string
/** Whether the keys of the account work. */
status: "active" | "suspended"
/** Set `failed` after a declined payment: requests that exceed the balance then get `payment_failed` instead of `insufficient_balance`. */
payment_state: "ok" | "failed"
/** Maximum amount to spend per calendar month (UTC); null for no limit. In millionths of `currency`. */
spend_cap_micros: number | null
/** Tasks that the account may run at once; further tasks are queued. Null for the default. */
concurrency: number | null
/** Days until media is deleted; null for the default. */
media_retention_days: number | null
/** Days until tasks are deleted; null for the default. */
task_retention_days: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Balances of the account's wallets. */
balances: (Balance)[]
/** The subscription; null if there is none. */
subscription: {
/** Id of the plan; null if it has none. */
plan_id: string | null
/** Amount that the current cycle may spend. In millionths of `currency`. */
cycle_quota_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the current cycle started. Unix time in seconds. */
cycle_started_at: number
/** When the current cycle ends. Unix time in seconds. */
cycle_ends_at: number
/** When the subscription ends. Unix time in seconds. */
ends_at: number
} | null
/** When the account was created. Unix time in seconds. */
created_at: number
/** When its keys stopped to work because it is erased; null for every other account. Unix time in seconds. */
erased_at: number | null
}
/** Balance of a wallet. */
export type Balance = {
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** Amount that can be spent. In millionths of `currency`. */
available_micros: number
/** Amount held for running tasks and requests. In millionths of `currency`. */
held_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
export type ListAccountsParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only accounts whose name contains this text. */
name?: string
/** Only accounts in this state. */
status?: "active" | "suspended"
}
export type ListAccountsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (Account)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type AccountChange = {
/** Name of the account. */
name?: string
/** Whether the keys of the account work. */
status?: "active" | "suspended"
/** Set `failed` after a declined payment: requests that exceed the balance then get `payment_failed` instead of `insufficient_balance`. */
payment_state?: "ok" | "failed"
/** Maximum amount to spend per calendar month (UTC); null for no limit. In millionths of `currency`. */
spend_cap_micros?: number | null
/** Tasks that the account may run at once; further tasks are queued. Null for the default. */
concurrency?: number | null
/** Days until media is deleted; null for the default. */
media_retention_days?: number | null
/** Days until tasks are deleted; null for the default. */
task_retention_days?: number | null
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
export type UpdateAccountParams = AccountChange
export type Erasure = {
/** Id of the account. */
account_id: string
/** The type of this object: always `account.erasure`. */
object: "account.erasure"
/** Whether everything is erased. The keys stop to work at once. */
status: "erasing" | "erased"
/** When the erasure was requested. Unix time in seconds. */
requested_at: number
/** When nothing was left. Unix time in seconds. */
finished_at: number | null
/** Rows that are deleted or emptied so far, by table, and files, bytes and provider jobs. */
counts: {
[name: string]: unknown
}
/** What was erased; null until everything is. */
certificate: {
/** Id of the account. */
account_id: string
/** Id of the operator key that requested the erasure, if it is known. */
operator_key_id: string | null
/** When the erasure was requested. Unix time in seconds. */
requested_at: number
/** When nothing was left. Unix time in seconds. */
finished_at: number
/** Deleted rows by table. */
deleted_rows: {
[name: string]: unknown
}
/** Rows that stay without what a person wrote. */
emptied: ({
/** Name of the table. */
table: string
/** What was emptied. */
columns: string
/** Number of rows. */
rows: number
})[]
/** Deleted files. */
files: {
/** Number of files. */
objects: number
/** Their size, without recordings. */
size_bytes: number
}
/** Jobs at providers. */
provider_jobs: {
/** Jobs that providers were asked to delete. */
requested: number
/** Those that were not deleted yet. They are tried for 30 days. */
pending: number
}
/** Rows that stay. */
kept: ({
/** Name of the table. */
table: string
/** Number of rows. */
rows: number
/** Why the rows stay. */
reason: string
})[]
/** What is left in each wallet. */
balances: (Balance)[]
/** What backups still have. */
backups: string
/** Keyed hash of the other fields, hexadecimal. */
signature: string
} | null
}
export type SubscriptionBody = {
/** Id of the plan. */
plan_id: string
/** When the subscription ends. Its keys are rejected from then on. Unix time in seconds. */
ends_at: number
}
export type SetSubscriptionParams = SubscriptionBody
export type PlanBody = {
/** Name of the plan. */
name: string
/** Amount that one cycle may spend. In millionths of `currency`. */
cycle_quota_micros: number
/** Length of a cycle in days. */
cycle_days: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
export type CreatePlanParams = PlanBody
export type Plan = {
/** Id of the plan. */
id: string
/** The type of this object: always `plan`. */
object: "plan"
/** Name of the plan. */
name: string
/** Amount that one cycle may spend. In millionths of `currency`. */
cycle_quota_micros: number
/** Length of a cycle in days. */
cycle_days: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Number of accounts that are subscribed to the plan. */
subscribers: number
/** When the plan was created. Unix time in seconds. */
created_at: number
}
export type ListPlansParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
}
export type ListPlansResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (Plan)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type PlanChange = {
/** Name of the plan. */
name?: string
/** Amount that one cycle may spend. In millionths of `currency`. */
cycle_quota_micros?: number
/** Length of a cycle in days. */
cycle_days?: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
export type UpdatePlanParams = PlanChange
export type DeletePlanResponse = {
/** Id of the deleted plan. */
id: string
/** Always `true`. */
deleted: true
}
export type KeyBody = {
/** Whether the key pays from the pay-as-you-go balance or from the subscription. */
kind: "payg" | "subscription"
/** Name of the key. */
name?: string
/** Models that the key may use, by id or alias; null for all models. An id allows the model under every name, an alias under that name only. */
models?: (string)[] | null
/** IP addresses or CIDR ranges that may use the key; null for all addresses. */
addresses?: (string)[] | null
/** When the key expires; null if it does not expire. Unix time in seconds. */
expires_at?: number | null
/** Whether requests with the key are rejected. */
disabled?: boolean
/** Total amount that the key may spend from the time the quota is set; null for no limit. In millionths of `currency`. */
quota_micros?: number | null
/** Limit for all requests with the key together; null for no limit. */
requests_per_minute?: number | null
/** Rate limits by group of operations, in requests per minute. */
limits?: Limits
/** Tasks that the key may run at once; further tasks are queued. Null for the default. */
concurrency?: number | null
/** Dialect of the responses to this key. */
dialect?: "reference" | "openai"
/** What the key may do: `create` creates, changes and deletes media; `read` reads it; `account` manages keys and budgets of the account. */
scopes?: ("create" | "read" | "account")[]
/** Maximum amounts to spend per period. Unspent amounts do not carry over. */
budgets?: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Maximum amount to spend per period. In millionths of `currency`. */
limit_micros: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
})[]
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
/** Rate limits by group of operations, in requests per minute. */
export type Limits = {
/** Requests that create videos, characters or transcription tasks. */
create?: number
/** Requests that read or change existing resources. */
read?: number
/** Requests for speech, transcriptions and translations. */
audio?: number
/** Requests for chat completions. */
chat?: number
}
export type CreateKeyParams = KeyBody
/** The key. */
export type Key = {
/** Id of the key. */
id: string
/** The type of this object: always `key`. */
object: "key"
/** Id of the account; null for an operator key. */
account_id: string | null
/** Name of the account; null for an operator key. */
account_name: string | null
/** What the key is for: pay-as-you-go, subscription or administration. */
kind: "payg" | "subscription" | "admin"
/** What an operator key may do; null for a key of an account. */
role: "read" | "support" | "finance" | "admin" | null
/** Last characters of the secret, to tell keys apart. */
hint: string
/** What the key may do: `create` creates, changes and deletes media; `read` reads it; `account` manages keys and budgets of the account. */
scopes: ("create" | "read" | "account")[] | null
/** Name of the key. */
name: string
/** Models that the key may use, by id or alias; null for all models. An id allows the model under every name, an alias under that name only. */
models: (string)[] | null
/** IP addresses or CIDR ranges that may use the key; null for all addresses. */
addresses: (string)[] | null
/** When the key expires; null if it does not expire. Unix time in seconds. */
expires_at: number | null
/** Whether requests with the key are rejected. */
disabled: boolean
/** Total amount that the key may spend from the time the quota is set; null for no limit. In millionths of `currency`. */
quota_micros: number | null
/** Limit for all requests with the key together; null for no limit. */
requests_per_minute: number | null
/** Rate limits by group of operations, in requests per minute. */
limits: Limits
/** Tasks that the key may run at once; further tasks are queued. Null for the default. */
concurrency: number | null
/** Dialect of the responses to this key. */
dialect: "reference" | "openai"
/** Maximum amounts to spend per period. Unspent amounts do not carry over. */
budgets: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Maximum amount to spend per period. In millionths of `currency`. */
limit_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
})[]
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Used part of the quota; 0 for a key without a quota. In millionths of `currency`. */
used_micros: number
/** How much of each budget is used. */
budget_usage: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Used part of the budget in the current period, with what is held. In millionths of `currency`. */
used_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the next period starts. Unix time in seconds. */
resets_at: number
})[]
/** When the secret before the last rotation expires; null if it is not valid any more or never was. Unix time in seconds. */
previous_secret_expires_at: number | null
/** When the key was last used; null if it was never used. Unix time in seconds. */
last_used_at: number | null
/** When the key was created. Unix time in seconds. */
created_at: number
}
export type CreateKeyResponse = {
/** The key. */
key: Key
/** The secret of the key. It is returned only once; the service stores a hash of it. */
secret: string
}
export type ListKeysParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only keys of this account. */
account_id?: string
/** Only keys of this kind. */
kind?: "payg" | "subscription" | "admin"
}
export type ListKeysResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (Key)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type KeyChange = {
/** Name of the key. */
name?: string
/** Models that the key may use, by id or alias; null for all models. An id allows the model under every name, an alias under that name only. */
models?: (string)[] | null
/** IP addresses or CIDR ranges that may use the key; null for all addresses. */
addresses?: (string)[] | null
/** When the key expires; null if it does not expire. Unix time in seconds. */
expires_at?: number | null
/** Whether requests with the key are rejected. */
disabled?: boolean
/** Total amount that the key may spend from the time the quota is set; null for no limit. In millionths of `currency`. */
quota_micros?: number | null
/** Limit for all requests with the key together; null for no limit. */
requests_per_minute?: number | null
/** Rate limits by group of operations, in requests per minute. */
limits?: Limits
/** Tasks that the key may run at once; further tasks are queued. Null for the default. */
concurrency?: number | null
/** Dialect of the responses to this key. */
dialect?: "reference" | "openai"
/** What the key may do: `create` creates, changes and deletes media; `read` reads it; `account` manages keys and budgets of the account. */
scopes?: ("create" | "read" | "account")[]
/** Maximum amounts to spend per period. Unspent amounts do not carry over. */
budgets?: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Maximum amount to spend per period. In millionths of `currency`. */
limit_micros: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
})[]
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
/** What an operator key may do: `read` everything except what customers send; `support` also customers, their keys and their tasks; `finance` also money, plans and prices; `admin` everything. */
role?: "read" | "support" | "finance" | "admin"
}
export type UpdateKeyParams = KeyChange
export type RotateBody = {
/** How long the previous secret remains valid, in seconds. Secrets before it are refused at once. */
overlap_seconds?: number
}
export type RotateKeyParams = RotateBody
export type DeleteKeyResponse = {
/** Id of the deleted key. */
id: string
/** Always `true`. */
deleted: true
}
export type OperatorKeyBody = {
/** Name of the key. */
name: string
/** What an operator key may do: `read` everything except what customers send; `support` also customers, their keys and their tasks; `finance` also money, plans and prices; `admin` everything. */
role: "read" | "support" | "finance" | "admin"
/** When the key expires; null if it does not expire. Without it, the key expires after 90 days. Unix time in seconds. */
expires_at?: number | null
}
export type CreateOperatorKeyParams = OperatorKeyBody
export type TopUpBody = {
/** Amount to add. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
/** The wallet: pay-as-you-go or subscription. */
wallet?: "payg" | "subscription"
/** The reason, for the audit log. */
reason: string
/** Your own reference, such as an invoice number. A request that repeats a reference does not move money again. */
reference?: string
}
export type CreateTopUpParams = TopUpBody
export type CreatedMovement = {
/** Id of the movement. */
id: string
/** The type of this object: always `movement`. */
object: "movement"
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** Kind of movement. A `grant` starts a cycle of a subscription, an `expiry` removes the unspent rest of a cycle, a `refund` returns the charge of a task or request. */
kind: "top_up" | "grant" | "adjustment" | "expiry" | "refund"
/** Id of the task or request that was refunded; null for other movements. */
task_id: string | null
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** Amount of the movement; negative if it lowers the balance. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Who made the movement: the id of an operator key. */
actor: string
/** The reason that was given. */
reason: string
/** The reference that was given; null if there was none. */
reference: string | null
/** When the movement was recorded. Unix time in seconds. */
created_at: number
/** Balance of a wallet. */
balance: Balance
}
export type AdjustmentBody = {
/** Amount to add; negative to subtract. A balance cannot become negative. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
/** The wallet: pay-as-you-go or subscription. */
wallet?: "payg" | "subscription"
/** The reason, for the audit log. */
reason: string
/** Your own reference, such as an invoice number. A request that repeats a reference does not move money again. */
reference?: string
}
export type CreateAdjustmentParams = AdjustmentBody
export type RefundBody = {
/** Amount to refund. Defaults to everything that was charged and not refunded yet. In millionths of `currency`. */
amount_micros?: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
/** The reason, for the audit log. */
reason: string
/** Your own reference, such as an invoice number. A request that repeats a reference does not move money again. */
reference?: string
}
export type CreateRefundParams = RefundBody
export type CreatedRefund = {
/** Id of the movement. */
id: string
/** The type of this object: always `movement`. */
object: "movement"
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** Kind of movement. A `grant` starts a cycle of a subscription, an `expiry` removes the unspent rest of a cycle, a `refund` returns the charge of a task or request. */
kind: "top_up" | "grant" | "adjustment" | "expiry" | "refund"
/** Id of the task or request that was refunded; null for other movements. */
task_id: string | null
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** Amount of the movement; negative if it lowers the balance. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Who made the movement: the id of an operator key. */
actor: string
/** The reason that was given. */
reason: string
/** The reference that was given; null if there was none. */
reference: string | null
/** When the movement was recorded. Unix time in seconds. */
created_at: number
/** Balance of a wallet. */
balance: Balance
/** Amount charged for the task or request. In millionths of `currency`. */
captured_micros: number
/** The part of it that was refunded, including this refund. In millionths of `currency`. */
refunded_micros: number
}
export type ListMovementsParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
}
export type AccountMovement = {
/** Id of the movement. */
id: string
/** The type of this object: always `movement`. */
object: "movement"
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** Kind of movement. A `grant` starts a cycle of a subscription, an `expiry` removes the unspent rest of a cycle, a `refund` returns the charge of a task or request. */
kind: "top_up" | "grant" | "adjustment" | "expiry" | "refund"
/** Id of the task or request that was refunded; null for other movements. */
task_id: string | null
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** Amount of the movement; negative if it lowers the balance. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Who made the movement: the id of an operator key. */
actor: string
/** The reason that was given. */
reason: string
/** The reference that was given; null if there was none. */
reference: string | null
/** When the movement was recorded. Unix time in seconds. */
created_at: number
}
export type ListMovementsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (AccountMovement)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type ListLedgerEntriesParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only this account. */
account_id?: string
/** Only this task or request with its refunds, or this movement. */
task_id?: string
/** Only movements of this kind. */
movement?: "top_up" | "grant" | "adjustment" | "expiry" | "hold" | "capture" | "release" | "refund"
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
}
export type LedgerEntry = {
/** Id of the entry. */
id: string
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** Id of the task, request or movement that the entry belongs to. */
task_id: string | null
/** Kind of movement, such as `hold` or `capture`. */
movement: string
/** The book of the entry, such as `available` or `held`. */
book: string
/** Amount of the entry. The entries of a movement sum to zero. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the entry was recorded. Unix time in seconds. */
created_at: number
}
export type ListLedgerEntriesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (LedgerEntry)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type LedgerAudit = {
/** The type of this object: always `ledger.audit`. */
object: "ledger.audit"
/** Whether no invariant is violated. */
is_sound: boolean
/** When the audit was made. Unix time in seconds. */
checked_at: number
/** Duration of the audit in milliseconds. */
duration_ms: number
/** The result for each invariant. */
findings: ({
/** Name of the invariant. */
invariant: string
/** Number of violations. */
violations: number
/** Ids that violate the invariant. */
examples: (string)[]
/** The invariant as a sentence. */
meaning: string
})[]
}
export type PriceLine = {
/** The unit of the price, such as `second`. */
unit: string
/** Price of one unit. In millionths of `currency`. */
unit_micros: number
/** How many seconds, calls, images, characters or tokens were counted. Decimal text with at most three decimals. */
quantity: string
/** How many of them are in one unit, such as 60 seconds in a `minute`. `total_micros` is `unit_micros` times `quantity` divided by `unit_size`, rounded up. */
unit_size: number
/** Price of all units. In millionths of `currency`. */
total_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Version of the price, if an operator set it. */
version?: number
/** The resolution that the price is for, if it is only for one. */
resolution?: string
/** Whether the price is for videos with sound, if it depends on it. */
sound?: boolean
/** The kind of input that the price is for, if it depends on it. */
input?: string
}
export type GetAnyReceiptResponse = {
/** The type of this object: always `receipt`. */
object: "receipt"
/** Id of the task or request. */
id: string
/** Id of the model. */
model: string
/** State of the task or request. */
status: string
/** How the price was calculated. */
lines: (PriceLine)[]
/** Amount held at the start. In millionths of `currency`. */
hold_micros: number
/** Amount charged; null until the task or request has ended. In millionths of `currency`. */
captured_micros: number | null
/** Part of the hold that was returned; null until the task or request has ended. In millionths of `currency`. */
released_micros: number | null
/** Part of the charge that was refunded later. In millionths of `currency`. */
refunded_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** The movements in the ledger. */
entries: ({
/** Kind of movement: `hold`, `capture`, `release`, `expiry` or `refund`. */
movement: string
/** Amount of the movement. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the movement was recorded. Unix time in seconds. */
created_at: number
})[]
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** Id of the key that created it. */
key_id: string
/** Name of the key. */
key_name: string
/** The provider that did the work; null if none has yet. */
provider: string | null
/** What the provider charges; null until it is known, or if the costs of the route are not configured. In millionths of `currency`. */
cost_micros: number | null
/** Amount charged minus refunds and cost; null until both are known. In millionths of `currency`. */
margin_micros: number | null
}
export type StatementMonth = {
/** The type of this object: always `statement_month`. */
object: "statement_month"
/** The calendar month in UTC, such as `2026-10`. */
month: string
/** `open`: the month has not ended, or ended less than an hour ago. `closed`: its figures no longer change. */
state: "open" | "closed"
/** Start of the month, inclusive. Unix time in seconds. */
from: number
/** End of the month, exclusive. Unix time in seconds. */
to: number
}
export type ListAccountStatementsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (StatementMonth)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type GetAccountStatementParams = {
/** With `csv`, the response is a table of comma-separated values with a header line. With `html`, it is a page for reading and printing. */
format?: "json" | "csv" | "html"
}
export type Statement = {
/** The type of this object: always `statement`. */
object: "statement"
/** The calendar month in UTC, such as `2026-10`. */
month: string
/** `open`: the month has not ended, or ended less than an hour ago. `closed`: its figures no longer change. */
state: "open" | "closed"
/** Start of the month, inclusive. Unix time in seconds. */
from: number
/** End of the month, exclusive. Unix time in seconds. */
to: number
/** Until when movements are included: the end of the month, or now in the current month. Unix time in seconds. */
as_of: number
/** Who issues the statement. */
issuer: {
/** Name of the operator; null if not configured. */
name: string | null
/** Lines of the address of the operator. */
address: (string)[]
/** Tax number of the operator; null if not configured. */
tax_number: string | null
}
/** The account. */
account: {
/** Id of the account. */
id: string
/** Name of the account. */
name: string
}
/** The wallets of the account. Nothing flows between them. */
wallets: (StatementWallet)[]
}
export type StatementWallet = {
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Balance at the start of the month, with held amounts. In millionths of `currency`. */
opening_balance_micros: number
/** Payments. */
top_ups: {
/** How many of these movements were made. */
count: number
/** Amount added. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Quotas of subscription cycles. */
grants: {
/** How many of these movements were made. */
count: number
/** Amount added. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Refunds, also of charges of earlier months. */
refunds: {
/** How many of these movements were made. */
count: number
/** Amount added. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Corrections by the operator. */
adjustments: {
/** How many of these movements were made. */
count: number
/** Amount added; negative if the adjustments lowered the balance. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Unspent rests of subscription cycles. */
expiries: {
/** How many of these movements were made. */
count: number
/** Amount removed, as a negative number. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Charges of all models. */
charges: {
/** How many of these movements were made. */
count: number
/** Amount removed, as a negative number. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** The charges of each model, as positive amounts. They sum up to `charges`. */
charges_by_model: (StatementCharge)[]
/** Balance at the end of the month, with held amounts: the opening balance plus all movements above. In millionths of `currency`. */
closing_balance_micros: number
/** The part of the closing balance that was held for tasks and requests that had not ended. In millionths of `currency`. */
held_micros: number
}
export type StatementCharge = {
/** Id of the model; null if it is no longer known. */
model: string | null
/** Tasks and requests that were charged. */
count: number
/** What was charged, by unit of the price. */
quantities: ({
/** The unit of the price, such as `second`. */
unit: string
/** How many seconds, calls, images, characters or tokens were charged. Decimal text with at most three decimals. */
quantity: string
/** How many of them are in one unit, such as 60 seconds in a `minute`. */
unit_size: number
})[]
/** Amount charged. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
export type ListPricesParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only prices of this model. */
model?: string
/** Whether to include past and future versions. */
all?: boolean
}
export type PriceVersion = {
/** Id of the price; null if no operator set it. */
id: string | null
/** The type of this object: always `price`. */
object: "price"
/** Id of the model. */
model: string
/** The unit of the price. */
unit: string
/** The price is only for videos of this width and height, such as `1280x720`, or of this number of lines, such as `720p`; null for all. */
resolution: string | null
/** The price is only for videos with or without sound; null for both. */
sound: boolean | null
/** The price is only for videos made from `text` alone, with an `image`, or from a `video`; null for all. */
input: string | null
/** Price of one unit. In millionths of `currency`. */
unit_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Version of the price, counted per model, unit and conditions; 0 if no operator set the price. */
version: number
/** When the price takes effect; null if no operator set it. Unix time in seconds. */
starts_at: number | null
/** Id of the operator key that set the price. */
actor: string | null
/** Where the price comes from: the built-in catalog, the providers file, the model as set with the admin API (`record`), or a price set by an operator. */
source: "catalog" | "file" | "record" | "operator"
}
export type ListPricesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (PriceVersion)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type PriceBody = {
/** Id of the model. */
model: string
/** The unit of the price. Videos are sold by the second or by the call; a price per reference image is added. */
unit: "second" | "minute" | "call" | "image" | "million_characters" | "million_text_input_tokens" | "million_audio_input_tokens" | "million_text_output_tokens" | "million_audio_output_tokens"
/** Width and height, or number of lines, that the price is for; null for all resolutions. */
resolution?: string | null
/** Whether the price is for videos with or without sound; null for both. */
sound?: boolean | null
/** The price is for videos made from text alone, with an image, or from a video; null for all. */
input?: "text" | "image" | "video" | null
/** Price of one unit. In millionths of `currency`. */
unit_micros: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
/** When the price takes effect. Defaults to now. Unix time in seconds. */
starts_at?: number
}
export type SetPriceParams = PriceBody
export type Overview = {
/** The type of this object: always `overview`. */
object: "overview"
/** When the overview was made. Counts of the last hour may be a minute older, those of the day a few minutes. Unix time in seconds. */
at: number
/** Tasks that providers are working on. */
running: number
/** Tasks that all enabled providers may work on at once. */
slots: number
/** Tasks that wait. */
queued: number
/** Age of the oldest task that waits, in seconds; null if none waits. */
oldest_wait_seconds: number | null
/** What ended within a period. */
last_hour: {
/** Tasks and charged requests that were completed. */
completed: number
/** Tasks and charged requests that failed. */
failed: number
/** Share of those that ended and failed, from 0 to 1; null if none ended. */
error_rate: number | null
/** Requests in the request log. */
requests: number
/** Requests with a status of 400 to 499. */
client_errors: number
/** Requests with a status of 500 or more. */
server_errors: number
}
/** What ended within a period. */
today: {
/** Tasks and charged requests that were completed. */
completed: number
/** Tasks and charged requests that failed. */
failed: number
/** Share of those that ended and failed, from 0 to 1; null if none ended. */
error_rate: number | null
/** Requests in the request log. */
requests: number
/** Requests with a status of 400 to 499. */
client_errors: number
/** Requests with a status of 500 or more. */
server_errors: number
}
/** Time from the request for a video to the stored video. */
time_to_video: {
/** Videos that were completed within the last hour. */
completed: number
/** Half of them took at most this long, from the request to the stored video. In milliseconds; null if there was none. */
p50_ms: number | null
/** 95 % of them took at most this long. In milliseconds; null if there was none. */
p95_ms: number | null
/** The last 24 hours in steps of five minutes, oldest first, without gaps. */
series: ({
/** Start of the five minutes. Unix time in seconds. */
at: number
/** Videos that were completed. */
completed: number
/** Videos that failed. */
failed: number
/** Half of the videos took at most this long. In milliseconds; null if there was none. */
p50_ms: number | null
/** 95 % of the videos took at most this long. In milliseconds; null if there was none. */
p95_ms: number | null
})[]
}
/** Money of the current UTC day. */
spend: {
/** The UTC day of the amounts. */
day: string
/** What customers were charged for what ended on this day. In millionths of `currency`. */
charged_micros: number
/** What that cost at the providers, as far as it is known. In millionths of `currency`. */
cost_micros: number
/** Charged tasks and requests whose cost is not known. */
unknown_costs: number
/** Sum of the daily budgets of the providers that have one; null if none has. In millionths of `currency`. */
budget_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Stored media of all accounts. */
storage: {
/** Stored media files. */
objects: number
/** Their size in bytes. */
size_bytes: number
/** When they were counted. Unix time in seconds. */
measured_at: number
} | null
/** All providers, by name. */
providers: ({
/** Name of the provider. */
name: string
/** The protocol of the provider. */
kind: string
/** Whether the provider gets new jobs. */
enabled: boolean
/** Tasks that the provider is working on. */
running: number
/** Tasks that the provider may work on at once. */
slots: number
/** Tasks that wait for a slot of the provider. */
queued: number
/** Age of the oldest task that waits for the provider, in seconds; null if none waits. */
oldest_wait_seconds: number | null
/** Tasks and charged requests that it completed within the last hour. */
completed: number
/** Tasks and charged requests that failed there within the last hour. */
failed: number
/** Half of its videos of the last hour took at most this long, from the request on. In milliseconds; null if there was none. */
p50_ms: number | null
/** 95 % of its videos of the last hour took at most this long. In milliseconds; null if there was none. */
p95_ms: number | null
/** Circuit breaker of the provider. */
breaker: {
/** `open`: the provider gets no new jobs for at least one model. `half_open`: one job shows whether it works again. `closed`: it gets new jobs. */
state: "closed" | "half_open" | "open"
/** Models whose breaker is not closed. */
models: (string)[]
/** Why it opened; null if it is closed. */
reason: string | null
/** When it closes or is tested; null if it is closed. Unix time in seconds. */
until: number | null
}
/** The last 60 minutes, oldest first, without gaps. */
minutes: ({
/** Start of the minute. Unix time in seconds. */
at: number
/** Submitted jobs and synchronous calls that ended in this minute. */
requests: number
/** Those that failed because of the provider or its configuration. */
errors: number
/** 95 % of them took at most this long. In milliseconds; null if there was none. */
p95_ms: number | null
/** `failing`: at least a fifth failed. `slow`: half of them took more than twice as long as half of those of the hour. `none`: there were none. */
state: "healthy" | "slow" | "failing" | "none"
})[]
})[]
/** What needs attention, most severe first. */
attention: ({
/** What is wrong, for programs. */
code: "provider_credential_refused" | "provider_breaker_open" | "provider_budget_alert" | "provider_budget_spent" | "provider_unusable" | "task_waiting_long" | "tasks_past_deadline" | "polls_overdue" | "submits_unknown" | "holds_too_old" | "webhook_deliveries_failed" | "webhook_endpoint_failing" | "webhook_endpoint_disabled" | "key_expires" | "model_shut_down" | "model_shuts_down" | "ledger_violation" | "ledger_audit_late" | "worker_not_seen" | "removals_waiting" | "disk_low" | "media_store_problem"
/** `page`: act now. `ticket`: act within working hours. `notice`: know about it. The alerts of the same facts have the same severity. */
severity: "page" | "ticket" | "notice"
/** What is wrong, in a few words. */
title: string
/** What is wrong and what to do, in one or two sentences. */
text: string
/** Since when; null if that is not known. Unix time in seconds. */
since: number | null
/** The object that it is about; null if it is about the whole instance. */
subject: {
/** Type of the object. */
type: "provider" | "model" | "key" | "operator_key" | "account" | "task" | "webhook_endpoint"
/** Id of the object, or the name of a provider. */
id: string
} | null
/** How many objects it is about. `subject` is one of them. */
count: number
/** The page that explains the repair; null if there is none. */
runbook_url: string | null
/** Path of the operation that returns the details, with its query; null if none does. */
link: string | null
})[]
}
/** Health of the provider for this model. */
export type Health = {
/** Whether the provider gets new jobs of this model. */
state: "healthy" | "unhealthy"
/** Why it is unhealthy; null if it is healthy. */
reason: string | null
/** When it is tried again; null if it is healthy. Unix time in seconds. */
until: number | null
}
/** What the provider has cost today. */
export type Spend = {
/** The UTC day of the amounts. */
day: string
/** What tasks and requests that ended on this day have cost. In millionths of `currency`. */
spent_micros: number
/** What jobs in flight cost. In millionths of `currency`. */
committed_micros: number
/** Whether what was spent and committed has reached `budget_alert_percent` of the budget (`alert`), or all of it (`spent`). */
state: "within" | "alert" | "spent"
/** Whether the provider gets no new work now. */
is_stopped: boolean
/** When the day ends. Unix time in seconds. */
resets_at: number
/** Models whose costs at this provider are not configured. They count as free, so set `costs` of their routes. */
models_without_costs: (string)[]
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
export type GetHealthResponse = {
/** The type of this object: always `health`. */
object: "health"
/** The state of the whole service, as customers see it at `/status`. */
state: "operational" | "degraded" | "down"
/** When the states were determined. Unix time in seconds. */
updated_at: number
/** Seconds since a worker last reached Restate; null if none ever did. */
worker_seen_seconds_ago: number | null
/** The kinds of models that this instance offers. */
kinds: ({
/** Kind of model. */
kind: "video" | "transcription" | "speech" | "chat"
/** State of the kind. */
state: "operational" | "degraded" | "down"
/** Since when it has this state. Unix time in seconds. */
since: number
/** Why it is not operational, with the names of models and providers; empty if it is. */
reasons: (string)[]
})[]
/** All providers, by name. */
providers: ({
/** Name of the provider. */
name: string
/** Whether the provider gets new jobs. */
enabled: boolean
/** Why the provider cannot be used, and how to fix it; null if it can. */
problem: string | null
/** The models for which the provider gets no new jobs now. */
unhealthy_models: ({
/** Id of the model. */
model: string
/** Health of the provider for this model. */
health: Health
})[]
/** What the provider has cost today. */
spend: Spend | null
/** Tasks that the provider is working on. */
tasks_in_flight: number
/** Tasks that wait for a slot of the provider. */
tasks_waiting: number
})[]
}
export type ListProviderProtocolsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** All protocols. */
data: ({
/** The type of this object: always `provider.protocol`. */
object: "provider.protocol"
/** The `kind` of providers of this protocol. */
kind: string
/** Name of the protocol, for a list. */
title: string
/** For which services it is. */
description: string
/** The kinds of models that it can serve. */
capabilities: ("video" | "speech" | "transcription" | "chat")[]
/** Address that is used if `base_url` is not given; null if it is required. */
default_base_url: string | null
/** Whether services of this protocol require an API key. */
needs_key: boolean
/** Everything that a provider of this kind can be configured with, in the order of a form. */
fields: ({
/** Name of the field in the body of `PUT /admin/v1/providers/{name}`. */
name: string
/** Whether the field belongs into `settings`, and not beside it. */
in_settings: boolean
/** The name as a label of a form. */
label: string
/** What it does, as help of a form. */
description: string
/** Whether it must be given. */
required: boolean
/** Whether it is a secret: it is stored encrypted and never returned. */
secret: boolean
/** Whether its default suits almost every provider. */
advanced: boolean
/** The value if it is not given; null if there is none. */
default: unknown
/** A value that is valid; null if there is no example. */
example: unknown
/** JSON schema of the value: type, limits and allowed values. */
schema: {
[name: string]: unknown
}
})[]
/** A valid body of `PUT /admin/v1/providers/{name}`. */
example: {
[name: string]: unknown
}
})[]
}
export type ListProviderProtocolsItem = {
/** The type of this object: always `provider.protocol`. */
object: "provider.protocol"
/** The `kind` of providers of this protocol. */
kind: string
/** Name of the protocol, for a list. */
title: string
/** For which services it is. */
description: string
/** The kinds of models that it can serve. */
capabilities: ("video" | "speech" | "transcription" | "chat")[]
/** Address that is used if `base_url` is not given; null if it is required. */
default_base_url: string | null
/** Whether services of this protocol require an API key. */
needs_key: boolean
/** Everything that a provider of this kind can be configured with, in the order of a form. */
fields: ({
/** Name of the field in the body of `PUT /admin/v1/providers/{name}`. */
name: string
/** Whether the field belongs into `settings`, and not beside it. */
in_settings: boolean
/** The name as a label of a form. */
label: string
/** What it does, as help of a form. */
description: string
/** Whether it must be given. */
required: boolean
/** Whether it is a secret: it is stored encrypted and never returned. */
secret: boolean
/** Whether its default suits almost every provider. */
advanced: boolean
/** The value if it is not given; null if there is none. */
default: unknown
/** A value that is valid; null if there is no example. */
example: unknown
/** JSON schema of the value: type, limits and allowed values. */
schema: {
[name: string]: unknown
}
})[]
/** A valid body of `PUT /admin/v1/providers/{name}`. */
example: {
[name: string]: unknown
}
}
export type ListProvidersParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
}
export type Provider = {
/** Name of the provider. */
name: string
/** The type of this object: always `provider`. */
object: "provider"
/** Where its configuration comes from: the providers file (`file`) or the admin API (`record`). */
source: "file" | "record"
/** The protocol of the provider. */
kind: string
/** URL of the provider's API. */
base_url: string
/** Whether the provider gets new jobs. A disabled provider finishes its running jobs. */
enabled: boolean
/** Jobs that the provider may run at once. */
slots: number
/** Number of loops that poll its jobs. */
shards: number
/** Shortest time between two polls of a job. In milliseconds. */
poll_interval_ms_min: number
/** Longest time between two polls of a job. In milliseconds. */
poll_interval_ms_max: number
/** Timeout for submitting a job. In milliseconds. */
submit_timeout_ms: number
/** Timeout for polling a job. In milliseconds. */
poll_timeout_ms: number
/** Timeout for downloading a result. In milliseconds. */
download_timeout_ms: number
/** Synchronous calls (speech, transcription, translation, audio chat) that each API process may have in flight. */
concurrency: number
/** Connections that each process may open to one origin. */
connections: number
/** Whether calls have the header `traceparent` with the ids of their trace. */
traceparent: boolean
/** Origins with private addresses from which results may be downloaded. */
result_origins: (string)[]
/** What the provider may cost per UTC day: what tasks and requests that ended on the day have cost, and what those in flight will cost. Null for any amount. In millionths of `currency`. */
budget_per_day_micros: number | null
/** Share of the budget from which on operators are warned. */
budget_alert_percent: number
/** Whether the provider gets no new work for the rest of the day once its budget is reached. */
budget_stops: boolean
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** What the provider has cost today. */
spend: Spend | null
/** Settings of the provider's kind, named as in the providers file, in snake case. */
settings: {
[name: string]: unknown
}
/** Last characters of its API key, to tell keys apart; null without a key. */
credential_hint: string | null
/** Whether the provider was deleted and only finishes its running jobs. */
is_removed: boolean
/** Why the provider cannot be used, and how to fix it; null if it can. */
problem: string | null
/** The models that the provider serves. */
models: ({
/** Id of the model. */
model: string
/** The provider's own name of the model. */
upstream_model: string
/** Priority of the route; lower values are tried first. */
order: number
/** Share of the work among routes of the same order. */
weight: number
/** Health of the provider for this model. */
health: Health
})[]
/** Tasks that the provider is working on. */
tasks_in_flight: number
/** Tasks that wait for a slot of the provider. */
tasks_waiting: number
/** Recordings for which the provider reported another duration than the one that was measured and charged. Each is in the log as `recording.duration-mismatch`. */
duration_mismatches: number
/** When an operator last changed the configuration; null if it comes from the file. Unix time in seconds. */
updated_at: number | null
}
export type ListProvidersResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (Provider)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type ProviderBody = {
/** The protocol of the provider, such as `openai`. */
kind: string
/** URL of the provider's API. */
base_url?: string
/** Whether the provider gets new jobs. A disabled provider finishes its running jobs. */
enabled?: boolean
/** Jobs that the provider may run at once. */
slots?: number
/** Number of loops that poll its jobs. */
shards?: number
/** Shortest time between two polls of a job. In milliseconds. */
poll_interval_ms_min?: number
/** Longest time between two polls of a job. In milliseconds. */
poll_interval_ms_max?: number
/** Timeout for submitting a job. In milliseconds. */
submit_timeout_ms?: number
/** Timeout for polling a job. In milliseconds. */
poll_timeout_ms?: number
/** Timeout for downloading a result. In milliseconds. */
download_timeout_ms?: number
/** Synchronous calls (speech, transcription, translation, audio chat) that each API process may have in flight. */
concurrency?: number
/** Connections that each process may open to one origin. */
connections?: number
/** Whether calls have the header `traceparent` with the ids of their trace. */
traceparent?: boolean
/** Origins with private addresses from which results may be downloaded. */
result_origins?: (string)[]
/** Share of the budget from which on operators are warned. */
budget_alert_percent?: number
/** Whether the provider gets no new work for the rest of the day once its budget is reached. */
budget_stops?: boolean
/** What the provider may cost per UTC day: what tasks and requests that ended on the day have cost, and what those in flight will cost. If omitted, any amount. In millionths of `currency`. */
budget_per_day_micros?: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
/** API key of the provider. It is stored encrypted and never returned. If omitted, the current key stays; null removes it. */
api_key?: string | null
/** Settings of the provider's kind, named as in the providers file, in snake case. */
settings?: {
[name: string]: unknown
}
}
export type SetProviderParams = ProviderBody
export type DeleteProviderResponse = {
/** Name of the provider. */
name: string
/** Always `true`. */
deleted: true
/** Whether the providers file has a provider of this name. Its configuration applies again from now on. */
is_of_file: boolean
/** Running tasks that the provider still finishes. It stays in the list until then. */
open_tasks: number
}
export type ResetProviderHealthResponse = {
/** Name of the provider. */
name: string
/** The type of this object: always `provider.health`. */
object: "provider.health"
/** Models for which the provider was unhealthy. */
forgotten: (string)[]
}
export type TestProviderResponse = {
/** The type of this object: always `provider.test`. */
object: "provider.test"
/** Name of the provider. */
provider: string
/** Whether the provider answered as its protocol defines. */
ok: boolean
/** Whether the answer shows that the provider accepts the key. False also for kinds and services without a call that shows it; `message` says so. */
key_verified: boolean
/** HTTP status of the answer; null if there was none. */
status: number | null
/** Duration of the call, in milliseconds. */
duration_ms: number
/** The result in words. After a failure: the reason, and how to fix it. It contains no secrets. */
message: string
/** The steps of the test, in their order. */
steps: ({
/** `configuration`: the settings are valid and the stored key can be read. `address`: the provider answers as its protocol defines. `key`: it accepts the key. */
name: "configuration" | "address" | "key"
/** The step in a few words. */
title: string
/** `unknown`: the answer does not show it. `skipped`: an earlier step failed. */
result: "passed" | "failed" | "unknown" | "skipped"
/** Duration of the step, in milliseconds. */
duration_ms: number
/** The result in words. */
message: string
/** How to fix it; null if it did not fail. */
repair: string | null
})[]
/** What the test cost at the provider: always 0, because it creates no job. In millionths of `currency`. */
cost_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
export type ListModelKindsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** All kinds. */
data: ({
/** The type of this object: always `model.kind`. */
object: "model.kind"
/** The `kind` of models with these fields. */
kind: "video" | "speech" | "transcription" | "chat"
/** Everything that a model of this kind can be configured with, in the order of a form. */
fields: ({
/** Name of the field in `settings` of `PUT /admin/v1/models/{id}`. */
name: string
/** The name as a label of a form. */
label: string
/** What it does, as help of a form. */
description: string
/** Whether it must be given. */
required: boolean
/** Whether it is a secret: it is stored encrypted and never returned. */
secret: boolean
/** Whether its default suits almost every provider. */
advanced: boolean
/** The value if it is not given; null if there is none. */
default: unknown
/** A value that is valid; null if there is no example. */
example: unknown
/** JSON schema of the value: type, limits and allowed values. */
schema: {
[name: string]: unknown
}
})[]
})[]
}
export type ListModelKindsItem = {
/** The type of this object: always `model.kind`. */
object: "model.kind"
/** The `kind` of models with these fields. */
kind: "video" | "speech" | "transcription" | "chat"
/** Everything that a model of this kind can be configured with, in the order of a form. */
fields: ({
/** Name of the field in `settings` of `PUT /admin/v1/models/{id}`. */
name: string
/** The name as a label of a form. */
label: string
/** What it does, as help of a form. */
description: string
/** Whether it must be given. */
required: boolean
/** Whether it is a secret: it is stored encrypted and never returned. */
secret: boolean
/** Whether its default suits almost every provider. */
advanced: boolean
/** The value if it is not given; null if there is none. */
default: unknown
/** A value that is valid; null if there is no example. */
example: unknown
/** JSON schema of the value: type, limits and allowed values. */
schema: {
[name: string]: unknown
}
})[]
}
export type ListModelEntriesParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
}
export type ModelEntry = {
/** Id of the model. */
id: string
/** The type of this object: always `model.entry`. */
object: "model.entry"
/** What the model does. */
kind: "video" | "speech" | "transcription" | "chat"
/** State of the model today. It is retired from its shutdown date on. */
state: "active" | "deprecated" | "retired"
/** Where the model comes from: the built-in catalog (`catalog`), the providers file (`file`) or the admin API (`record`). A later source changes settings of an earlier one. */
source: "catalog" | "file" | "record"
/** All settings in force. Settings of the model, named as in the providers file, in snake case. */
settings: {
[name: string]: unknown
}
/** Names of the settings that were set with the admin API. */
changed: (string)[]
/** Why the settings of the admin API do not apply, and how to fix it; null if they do or there are none. */
problem: string | null
}
export type ListModelEntriesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (ModelEntry)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type ModelBody = {
/** Settings of the model, named as in the providers file, in snake case. */
settings: {
[name: string]: unknown
}
}
export type SetModelEntryParams = ModelBody
export type DeleteModelEntryResponse = {
/** Id of the model. */
id: string
/** Always `true`. */
deleted: true
/** Where the settings come from that apply again from now on; null if the model is gone. */
source: "catalog" | "file" | null
}
export type ModelRoutes = {
/** The type of this object: always `model.routes`. */
object: "model.routes"
/** Id of the model. */
model: string
/** Where the routes come from: the admin API (`record`), the providers file (`file`), or neither (`default`): then the first provider that supports the model serves it. */
source: "record" | "file" | "default"
/** Why the routes of the admin API do not apply, and how to fix it; null if they do. */
problem: string | null
/** The routes in order of priority. */
routes: ({
/** Name of the provider. */
provider: string
/** The provider's own name of the model. */
model: string
/** Priority of the route. The lowest order with a usable route is used. */
order: number
/** Share of the work among routes of the same order. */
weight: number
/** Durations of video that the route supports; null for all. */
seconds: (number)[] | null
/** Sizes of video that the route supports; null for all. */
sizes: (string)[] | null
/** Tasks of this model that the provider may run at once. */
slots: number
/** What the provider charges, in the form of the prices of the providers file. Null if unknown. */
costs: ({
/** The unit of the cost, such as `second`. */
unit: string
/** Cost of one unit. In millionths of `currency`. */
micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** The price is only for videos of this width and height, such as `1280x720`, or of this number of lines, such as `720p`; null for all. */
resolution: string | null
/** The price is only for videos with or without sound; null for both. */
sound: boolean | null
/** The price is only for videos made from `text` alone, with an `image`, or from a `video`; null for all. */
input: string | null
})[] | null
/** Health of the provider for this model. */
health: Health
})[]
}
export type RoutesBody = {
/** The routes of the model. */
routes: ({
/** Name of the provider. */
provider: string
/** The provider's own name of the model. */
model?: string
/** Priority of the route. The lowest order with a usable route is used. */
order?: number
/** Share of the work among routes of the same order. */
weight?: number
/** Durations of video that the route supports. */
seconds?: (number)[]
/** Sizes of video that the route supports, such as `1280x720`. */
sizes?: (string)[]
/** Tasks of this model that the provider may run at once. */
slots?: number
/** What the provider charges, in the form of the prices of the providers file. */
costs?: ({
/** The unit of the cost, such as `second`. */
unit: string
/** Cost of one unit in millionths of the instance's currency. */
micros: number
/** Only for this resolution. */
resolution?: string
/** Only for videos with or without sound. */
sound?: boolean
/** Only for this kind of input. */
input?: string
})[]
})[]
}
export type SetModelRoutesParams = RoutesBody
export type ExplainBody = {
/** Duration of the video, or of the audio to transcribe. Default: the default of the model, or a minute. */
seconds?: number
/** A size of the model, or a width and height such as `1280x720`. Default: the first size. */
size?: string
/** Whether the video has sound. Default: yes if it can have any. */
sound?: boolean
/** Number of reference images. */
images?: number
/** Whether the video is a remix. */
is_remix?: boolean
/** Characters to speak. Default: 1,000. */
characters?: number
/** Text tokens of a chat request. Default: 1,000. */
text_input_tokens?: number
/** Audio tokens of a chat request. */
audio_input_tokens?: number
/** Text tokens of a chat response. Default: 1,000. */
text_output_tokens?: number
/** Audio tokens of a chat response. */
audio_output_tokens?: number
}
export type ExplainModelRoutesParams = ExplainBody
export type RouteExplanation = {
/** The type of this object: always `route.explanation`. */
object: "route.explanation"
/** Id of the model. */
model: string
/** The request with its defaults. */
request: {
[name: string]: unknown
}
/** What the customer would pay. In millionths of `currency`. */
price_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** All routes of the model, in order of priority. */
routes: ({
/** Name of the provider. */
provider: string
/** The provider's own name of the model. */
model: string
/** Priority of the route. The lowest order with a usable route is used. */
order: number
/** Share of the work among routes of the same order. */
weight: number
/** How likely the request takes this route now: 1 for certain, 0 for never. */
share: number
/** Why the request would or would not take this route. */
reason: string
/** What the provider would charge; null if the costs of the route are not configured. In millionths of `currency`. */
cost_micros: number | null
/** Price minus cost; null if the cost is unknown. In millionths of `currency`. */
margin_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
})[]
}
export type ListTasksParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only this account. */
account_id?: string
/** Only this key. */
key_id?: string
/** Only this model. */
model?: string
/** Only this provider. */
provider?: string
/** Only tasks in one of these states, such as `pending,processing`. */
status?: string
/** Only tasks that failed with this code. */
error_code?: string
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
}
export type AdminTask = {
/** Id of the task. */
id: string
/** The type of this object: always `task`. */
object: "task"
/** Kind of task. */
kind: "video" | "transcription"
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** Id of the key that created it. */
key_id: string
/** Name of the key. */
key_name: string
/** Id of the model. */
model: string
/** Name of the provider; null for a transcription, because its segments can go to different providers. */
provider: string | null
/** State of the task: `pending`, `processing`, `completed` or `failed`. */
status: string
/** Internal stage of a task that has not ended; null once it has ended. */
stage: string | null
/** Progress in percent. */
progress: number
/** Why the task failed; null otherwise. */
error: Failure | null
/** Amount held for the task. In millionths of `currency`. */
hold_micros: number
/** Amount charged; null until the task has ended. In millionths of `currency`. */
captured_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the task was created. Unix time in seconds. */
created_at: number
/** When the task ended; null until then. Unix time in seconds. */
finished_at: number | null
}
/** Why the task failed; null otherwise. */
export type Failure = {
/** Why the task failed, as an error code for programs. */
code: string
/** Why the task failed, as a sentence for people. */
message: string
}
export type ListTasksResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (AdminTask)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type Exchange = {
/** Which call it was, such as `submit`. */
what: string
/** HTTP method. */
method: string
/** Path below the provider's URL, without the query. */
path: string
/** HTTP status; null if there was no response. */
status: number | null
/** Duration in milliseconds. */
ms: number
/** Beginning of the response, or why there was none. */
answer: string
}
export type GetTaskResponse = {
/** Id of the task. */
id: string
/** The type of this object: always `task`. */
object: "task"
/** Kind of task. */
kind: "video" | "transcription"
/** Id of the account. */
account_id: string
/** Name of the account. */
account_name: string
/** Id of the key that created it. */
key_id: string
/** Name of the key. */
key_name: string
/** Id of the model. */
model: string
/** Name of the provider; null for a transcription, because its segments can go to different providers. */
provider: string | null
/** State of the task: `pending`, `processing`, `completed` or `failed`. */
status: string
/** Internal stage of a task that has not ended; null once it has ended. */
stage: string | null
/** Progress in percent. */
progress: number
/** Why the task failed; null otherwise. */
error: Failure | null
/** Amount held for the task. In millionths of `currency`. */
hold_micros: number
/** Amount charged; null until the task has ended. In millionths of `currency`. */
captured_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the task was created. Unix time in seconds. */
created_at: number
/** When the task ended; null until then. Unix time in seconds. */
finished_at: number | null
/** How the price was calculated. */
prices: (PriceLine)[]
/** Part of the charge that was refunded. In millionths of `currency`. */
refunded_micros: number
/** What the provider charges; null if no provider has accepted the task or its costs are unknown. In millionths of `currency`. */
cost_micros: number | null
/** Id of the failed task that this task retries; null if it is not a retry. */
retried_from: string | null
/** Reference to the provider's job; null if there is none. */
upstream: unknown
/** Counters of a task that has not ended; null once it has ended. */
attempts: {
/** How often the task was handed to the engine. */
runs: number
/** Submits to providers so far. */
submits: number
/** Submits that a provider definitely rejected. */
refusals: number
/** When the job was accepted; null until then. Unix time in seconds. */
submitted_at: number | null
/** When the task fails if it is not completed. Unix time in seconds. */
deadline_at: number
} | null
/** The current routing decision; null once the task has ended. */
decision: {
/** Name of the chosen provider. */
provider: string
/** Why this provider was chosen. */
reason: string
/** Providers that were considered and not chosen. */
skipped: ({
/** Name of the provider. */
provider: string
/** Why the provider was not chosen. */
reason: string
})[]
} | null
/** All attempts to submit the task to a provider, in order. */
provider_attempts: ({
/** Number of the attempt, counted from 1. */
attempt: number
/** Name of the provider. */
provider: string
/** The provider's own name of the model. */
upstream_model: string
/** Why this provider was chosen. */
reason: string | null
/** Providers that were considered and not chosen. */
skipped: ({
/** Name of the provider. */
provider: string
/** Why the provider was not chosen. */
reason: string
})[]
/** How the submit ended. `unauthorized`: the provider rejected our credential. `unknown`: the provider may have accepted the job, but this could not be determined. */
outcome: "accepted" | "not_delivered" | "busy" | "unauthorized" | "rejected" | "moderated" | "unknown"
/** Why the submit or the accepted job failed: the provider's message, redacted. It is not shown to callers. */
failure_reason: string | null
/** Whether the provider accepted a job although another job had been accepted. It is not charged. */
is_duplicate: boolean
/** When the attempt started. Unix time in seconds. */
started_at: number
/** When the attempt ended. Unix time in seconds. */
ended_at: number
/** The calls to the provider. */
exchanges: (Exchange)[]
})[]
/** The events of the task, in order. */
events: ({
/** When the event happened. Unix time in seconds. */
at: number
/** Kind of event, such as `accepted`. */
kind: string
/** Details of the event. */
data: unknown
})[]
}
export type GetTaskOrderResponse = {
/** Id of the task. */
id: string
/** The type of this object: always `task.order`. */
object: "task.order"
/** Id of the account. */
account_id: string
/** The prompt; null if there is none. */
prompt: string | null
/** The validated parameters of the task. */
order: unknown
}
export type TaskResolution = {
/** `fail`: the task fails with `upstream_error`, and its hold is released. `retry`: another route gets the task. */
action: "fail" | "retry"
}
export type ResolveTaskParams = TaskResolution
export type ExplainTaskResponse = {
/** Id of the task, or of the request. */
id: string
/** The type of this object: always `task.explanation`. */
object: "task.explanation"
/** What the id belongs to. A `request` was answered without creating a task. */
kind: "video" | "transcription" | "request"
/** State of the task: `pending`, `processing`, `completed` or `failed`; `rejected` for a request. */
status: string
/** The error code that the customer sees; null if none. */
error_code: string | null
/** Why the task stands where it does, or why there is none. */
cause: {
/** The cause, for programs. */
code: "completed" | "queued" | "running" | "queue_full" | "credential_refused" | "breaker_open" | "budget_spent" | "provider_busy" | "provider_unreachable" | "provider_failed" | "moderated" | "request_invalid" | "deadline" | "cancelled" | "download_failed" | "unknown_outcome" | "engine_lost" | "insufficient_funds" | "request_rejected"
/** The cause, as sentences for people. */
text: string
}
/** What to do; null if there is nothing to do. */
fix: string | null
/** The times of the stages that have begun, in order. */
stages: ({
/** `queue`: until the first submit, or until the transcription began. `submit`: until a provider had the job. `provider`: until the provider reported its outcome. `store`: until the result was downloaded, checked and stored. `transcribe`: until the recording was transcribed. */
name: "queue" | "submit" | "provider" | "store" | "transcribe"
/** When the stage began. Unix time in seconds. */
started_at: number
/** When the stage ended; null if it has not. Unix time in seconds. */
ended_at: number | null
/** Its duration so far, in milliseconds. */
duration_ms: number
})[]
/** The submits of a video to providers, in order. Of a transcription: the last request that failed, if any. */
attempts: ({
/** Name of the provider; null if none could be called. */
provider: string | null
/** How the call ended, as in `provider_attempts` of the task. */
outcome: string
/** Why this provider was chosen; null if unknown. */
route_reason: string | null
/** Providers that were considered and not chosen. */
skipped: ({
/** Name of the provider. */
provider: string
/** Why the provider was not chosen. */
reason: string
})[]
/** The provider's message, redacted; null if nothing failed. */
failure_reason: string | null
/** When the call began; null if unknown. Unix time in seconds. */
started_at: number | null
/** Its duration in milliseconds; null if unknown. */
duration_ms: number | null
})[]
/** What the customer pays, and what it costs; null for a request. */
money: {
/** Amount held for the task. In millionths of `currency`. */
hold_micros: number
/** Amount charged; null until the task has ended. In millionths of `currency`. */
captured_micros: number | null
/** Part of the charge that was refunded. In millionths of `currency`. */
refunded_micros: number
/** What the provider charges; null if that is unknown. In millionths of `currency`. */
cost_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
} | null
/** Everything above as sentences, in the order in which to read them. */
sentences: (string)[]
}
/** Why the task failed and what to do; null if it has not failed. */
export type FailureExplanation = {
/** Why the task failed, in plain sentences. */
cause: string
/** What to do about it, in plain sentences. */
what_to_do: string
/** What the failed task cost. In millionths of `currency`. */
charged_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Whether the unchanged request can be sent again: the failure was not due to its content, and it is not charged twice. */
is_repeat_safe: boolean
}
/** The video that this one was made from, and those that were made from it. */
export type Lineage = {
/** The video that this one is a remix of; null if it is not a remix. */
source: {
/** Id of the task that this one is a remix of. */
id: string
/** The first 200 characters of its prompt; null if the task was deleted, and for operators, who read prompts in the order of a task. */
prompt: string | null
/** State of the source; null if the task was deleted. */
status: string | null
} | null
/** The newest 100 remixes of this video, newest first. */
remixes: ({
/** Id of the remix. */
id: string
/** When the remix was created. Unix time in seconds. */
created_at: number
/** State of the remix. */
status: string
})[]
}
export type GetTaskTimelineResponse = {
/** Id of the task. */
id: string
/** The type of this object: always `task.timeline`. */
object: "task.timeline"
/** Kind of task. */
kind: "video" | "transcription"
/** Id of the account. */
account_id: string
/** State of the task: `pending`, `processing`, `completed` or `failed`. */
status: string
/** When the task was created. Unix time in seconds. */
created_at: number
/** When the task ended; null until then. Unix time in seconds. */
finished_at: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** The steps in the order in which they began. Steps may overlap: webhooks are delivered while the task continues. */
steps: ({
/** `accepted`: the request created the task. `hold`: its price was held. `queue`: it waited for a slot. `submit`: an attempt to hand it to a provider. `generate`: the provider worked on it. `store`: the result was downloaded, checked and stored. `transcribe`: a recording was transcribed. `settle`: the hold was captured or released. `refund`: a part of the charge was returned. `webhook`: an attempt to deliver an event to a webhook endpoint, or the wait for one. */
kind: "accepted" | "hold" | "queue" | "submit" | "generate" | "store" | "transcribe" | "settle" | "refund" | "webhook"
/** When the step began. Unix time in seconds. */
started_at: number
/** When the step ended; null while it is in progress. Unix time in seconds. */
ended_at: number | null
/** Milliseconds from the creation of the task to the start of the step. */
offset_ms: number
/** Duration of the step in milliseconds; null while it is in progress. */
duration_ms: number | null
/** Number of the attempt, counted from 1. Only of `submit` and `webhook`, otherwise null. */
attempt: number | null
/** How the step ended; null while it is in progress. `accepted`: `accepted`. `hold`: `held`. `queue`: `started` or `failed`. `submit`: `accepted`, `rejected`, `moderated`, `failed`, or `unknown` if the response was lost. `generate`: `done` or `failed`. `store`: `stored` or `failed`. `transcribe`: `done` or `failed`. `settle`: `captured` or `released`. `refund`: `refunded`. `webhook`: `delivered` or `failed`. */
outcome: string | null
/** More about the step as a sentence; null if there is nothing to add. */
detail: string | null
/** Name of the provider. Only operators see it; null for customers. */
provider: string | null
/** The amount of a `hold`, `settle` or `refund`. In millionths of `currency`. */
amount_micros?: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Of `accepted`: id of the HTTP request that created the task, as in `X-Request-Id`; null if it is not in the request log, where requests appear after a moment. */
request_id?: string | null
/** Of `generate`: how often the provider was asked for the result; null if unknown. */
polls?: number | null
/** Of `generate`: when the provider was last asked; null if never, or if unknown. Unix time in seconds. */
last_poll_at?: number | null
/** Of `webhook`: id of the delivery. */
delivery_id?: string
/** Of `webhook`: type of the event, such as `video.completed`. */
event_type?: string
/** Of `webhook`: HTTP status of the response; null if there was none. */
status?: number | null
/** Of `submit`: the provider's own name of the model. */
upstream_model?: string
/** Of `submit`: its outcome as in `provider_attempts` of the task. */
submit_outcome?: string
/** Of `submit`: whether the provider accepted a job although another job had been accepted. It is not charged. */
is_duplicate?: boolean
/** Why this provider was chosen. */
reason?: string | null
/** Providers that were considered and not chosen. */
skipped?: ({
/** Name of the provider. */
provider: string
/** Why the provider was not chosen. */
reason: string
})[]
/** Of `submit`: the provider's message, redacted. */
failure_reason?: string | null
/** Of `submit`: the calls to the provider, redacted. */
exchanges?: (Exchange)[]
})[]
/** Why the task failed and what to do; null if it has not failed. */
explanation: FailureExplanation | null
/** The video that this one was made from, and those that were made from it. */
lineage: Lineage
}
export type GetTaskContentParams = {
/** Which file to download. */
variant?: "video" | "thumbnail" | "spritesheet"
}
export type ListRequestErrorsParams = {
/** Only this account. */
account_id?: string
/** Only this key. */
key_id?: string
/** Only this operation. */
operation?: string
/** Only this error code. */
error_code?: string
/** Only this model. */
model?: string
/** Only this provider. */
provider?: string
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
/** Maximum number of groups to return. */
limit?: number
}
export type RequestErrorGroup = {
/** The type of this object: always `request.error_group`. */
object: "request.error_group"
/** Error code of the responses. */
error_code: string
/** HTTP status of the responses. */
status: number
/** Id of the operation. */
operation: string
/** Id of the model; null if none is involved. */
model: string | null
/** Name of the provider that was called; null if none was. */
provider: string | null
/** Requests of this group within the period. */
count: number
/** Accounts that sent them. */
accounts: number
/** Keys that sent them. */
keys: number
/** Requests without a valid key among them. Only a sample of those is logged. */
anonymous: number
/** When the first of them arrived. Unix time in seconds. */
first_seen: number
/** When the newest of them arrived. Unix time in seconds. */
last_seen: number
/** Id of the newest of them. */
example_request_id: string
/** What the error code means. */
cause: string
/** How to fix it. */
what_to_do: string
/** Who has to act: the caller, the operator of this service, or the provider. */
fault: "caller" | "service" | "provider"
/** The section of this code on the page of error codes. */
doc_url: string
/** Requests of this group in each of the last 24 hours of the period, oldest first. */
hours: (number)[]
}
export type ListRequestErrorsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The groups, most frequent first. */
data: (RequestErrorGroup)[]
/** Start of the period, inclusive. Unix time in seconds. */
from: number
/** End of the period, exclusive. Unix time in seconds. */
to: number
/** Failed requests within the period, with those of groups that are not listed. */
total: number
/** Groups within the period. */
groups: number
/** Whether all failed requests of the period were counted. If not, the counts are those of its newest requests, from `counted_from` on. */
is_complete: boolean
/** From when on requests were counted. Unix time in seconds. */
counted_from: number
}
export type GetTotalUsageParams = {
/** Comma-separated list of `hour`, `day`, `model`, `key`, `account` and `provider`. */
group_by?: string
/** Only this account. */
account_id?: string
/** Only this key. */
key_id?: string
/** Only this model. */
model?: string
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
/** With `csv`, the response is a table of comma-separated values with a header line. */
format?: "json" | "csv"
}
export type TotalUsageRow = {
/** Start of the hour or day of this row; null if the rows are not grouped by time. Unix time in seconds. */
period: number | null
/** Id of the model; null if not grouped by model. */
model: string | null
/** Id of the key; null if not grouped by key. */
key_id: string | null
/** Name of the key; null if not grouped by key. */
key_name: string | null
/** Id of the account; null if not grouped by account. */
account_id: string | null
/** Tasks and requests that ended in the period. */
requests: number
/** Those of them that succeeded. */
completed: number
/** Those of them that failed. */
failed: number
/** Amount charged. In millionths of `currency`. */
captured_micros: number
/** Amount refunded in the period, also for earlier tasks and requests. In millionths of `currency`. */
refunded_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Seconds of generated video or of processed audio. Decimal text with at most three decimals. */
seconds: string
/** Name of the account. */
account_name: string | null
/** Name of the provider; null if not grouped by provider. */
provider: string | null
/** What the providers charge for the tasks and requests whose cost is known; null if none is known. In millionths of `currency`. */
cost_micros: number | null
/** Amount charged minus refunds and cost, of the tasks and requests whose cost is known; null if none is known. In millionths of `currency`. */
margin_micros: number | null
/** Charged tasks and requests whose cost is not known, so `cost_micros` and `margin_micros` leave them out. */
unknown_costs: number
}
export type GetTotalUsageResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (TotalUsageRow)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type ListRequestsParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Id of the request: the `request_id` of an error, or the `x-request-id` of any response. */
id?: string
/** Only this account. */
account_id?: string
/** Only this key. */
key_id?: string
/** Only this operation. */
operation?: string
/** Only this HTTP method. */
method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
/** Only paths that begin with this, such as `/v1/videos`. The `path` of a request shows their form. */
path?: string
/** Only this IP address of the client. */
address?: string
/** Only this HTTP status. */
status?: number
/** Only HTTP statuses of this class. */
status_class?: "2xx" | "3xx" | "4xx" | "5xx"
/** Only requests that called this provider. */
provider?: string
/** Only requests that failed with this code. */
error_code?: string
/** Only this model. */
model?: string
/** Only the request that created this task. */
task_id?: string
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
}
export type LoggedRequest = {
/** Id of the request: the `x-request-id` of its response. */
id: string
/** The type of this object: always `request`. */
object: "request"
/** When the request arrived. Unix time in seconds. */
at: number
/** Id of the account; null without a valid key. */
account_id: string | null
/** Id of the key; null without a valid key. */
key_id: string | null
/** Name of the account. */
account_name: string | null
/** Name of the key. */
key_name: string | null
/** Id of the operation. */
operation: string
/** HTTP method. */
method: string
/** Path of the route, such as `/v1/models/:id`, with UUIDs filled in; `(unknown)` if there is none. */
path: string
/** HTTP status of the response. */
status: number
/** Error code of the response; null on success. */
error_code: string | null
/** Id of the model; null if none is involved. */
model: string | null
/** Name of the provider that was called during the request; null if none was. */
provider: string | null
/** Id of the task that the request created; null if none. */
task_id: string | null
/** Duration of the request in milliseconds. */
duration_ms: number
/** IP address of the client. */
address: string
/** `User-Agent` of the client; null if it sent none. */
user_agent: string | null
}
export type ListRequestsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (LoggedRequest)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type ListAllEventsParams = {
/** Maximum number of events to return. */
limit?: number
/** Return the events that follow this cursor: the `next` of a page. */
after?: string
/** Newest first (`desc`), or in the order in which they were committed (`asc`). */
order?: "asc" | "desc"
/** Only events of this type. */
type?: "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
/** Whether to stream the events. `limit` and `order` have no effect then. */
stream?: boolean
/** Only events of this account. */
account_id?: string
}
export type AdminEvent = {
/** Id of the event: the same at every read and in every webhook. */
id: string
/** The type of this object: always `event`. */
object: "event"
/** What happened. */
type: "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
/** When it happened. Unix time in seconds. */
created_at: number
/** The object that the event is about, with its `id`. Of a task, there are also its `status` and, if it is known, its `progress`: read the task for the rest. */
data: {
[name: string]: unknown
}
/** Id of the account. */
account_id: string
}
export type ListAllEventsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The events on this page. */
data: (AdminEvent)[]
/** Whether more events follow this page now. */
has_more: boolean
/** Cursor of the last event on this page, or of the end of the feed if the feed is empty. Send it as `after`. It is never null: with `order=asc`, it leads to the events that happen later. */
next: string
}
export type ListAuditEntriesParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only this operation. */
action?: string
/** Only entries about this resource. */
target?: string
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
}
export type AuditEntry = {
/** Number of the entry. */
sequence: number
/** The type of this object: always `audit.entry`. */
object: "audit.entry"
/** When it happened. Unix time in seconds. */
at: number
/** Id of the operator key, or the number of the user on the command line. */
actor: string
/** Name that the operator key has now; null if there is none, or it was erased. */
actor_name: string | null
/** Id of the operation. */
action: string
/** Id of the changed or read resource; null if there is none. */
target: string | null
/** Name that the account or key has now; null if the target is something else, or the name was erased. */
target_name: string | null
/** The resource before the change, without names, reasons, references and addresses. */
before: unknown
/** The resource after the change, without the same. `changed_without_value` lists those that were changed. */
after: unknown
/** Id of the request; null for a command. */
request_id: string | null
/** Keyed hash of this entry and of the hash of the previous entry. */
hash: string
}
export type ListAuditEntriesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (AuditEntry)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type VerifyAuditLogParams = {
/** The `head` of an earlier verification, which the log must still contain. */
known_head?: string
}
export type VerifyAuditLogResponse = {
/** The type of this object: always `audit.verification`. */
object: "audit.verification"
/** Whether all hashes are correct and the log contains `known_head`, if it was given. */
is_intact: boolean
/** Number of entries that were checked. */
entries: number
/** Number of the first entry with an incorrect hash; null if all are correct. */
broken_at: number | null
/** Whether the log contains the entry with the hash `known_head`. If not, entries were removed at the end, or the log was replaced. Null without `known_head`. */
has_known_head: boolean | null
/** Hash of the newest entry. Store it elsewhere and send it later as `known_head` to prove that nothing was removed. */
head: string | null
}
export type InstanceSettings = {
/** The type of this object: always `settings`. */
object: "settings"
/** Rate limits by group of operations, in requests per minute. */
limits: Limits
/** Tasks that an account without its own limit may run at once; null for no limit. */
concurrency_per_account: number | null
/** Tasks that a key without its own limit may run at once; null for no limit. */
concurrency_per_key: number | null
/** Tasks that an account may have in the queue. Further requests get 429. */
queue_length_per_account: number
/** Days until media is deleted. */
media_retention_days: number
/** Days until tasks are deleted. */
task_retention_days: number
/** Days until entries of the request log are deleted. */
log_retention_days: number
}
export type SettingsChange = {
/** Rate limits by group of operations, in requests per minute. */
limits?: Limits
/** Tasks that an account without its own limit may run at once; null for no limit. */
concurrency_per_account?: number | null
/** Tasks that a key without its own limit may run at once; null for no limit. */
concurrency_per_key?: number | null
/** Tasks that an account may have in the queue. Further requests get 429. */
queue_length_per_account?: number
/** Days until media is deleted. */
media_retention_days?: number
/** Days until tasks are deleted. */
task_retention_days?: number
/** Days until entries of the request log are deleted. */
log_retention_days?: number
}
export type UpdateSettingsParams = SettingsChange

export interface AdminMethods {
accounts: {
/** Create an account: `POST /admin/v1/accounts`. */
create(params: CreateAccountParams, options?: RequestOptions): Promise<Account>
/** List accounts: `GET /admin/v1/accounts`. */
list(params?: ListAccountsParams, options?: RequestOptions): List<ListAccountsResponse, Account>
/** Get an account: `GET /admin/v1/accounts/{id}`. */
get(id: string, options?: RequestOptions): Promise<Account>
/** Update an account: `PATCH /admin/v1/accounts/{id}`. */
update(id: string, params?: UpdateAccountParams, options?: RequestOptions): Promise<Account>
/** Erase an account: `DELETE /admin/v1/accounts/{id}`. */
erase(id: string, options?: RequestOptions): Promise<Erasure>
/** Get the erasure of an account: `GET /admin/v1/accounts/{id}/erasure`. */
erasure(id: string, options?: RequestOptions): Promise<Erasure>
/** Set the subscription of an account: `PUT /admin/v1/accounts/{id}/subscription`. */
setSubscription(id: string, params: SetSubscriptionParams, options?: RequestOptions): Promise<Account>
/** End the subscription of an account: `DELETE /admin/v1/accounts/{id}/subscription`. */
endSubscription(id: string, options?: RequestOptions): Promise<Account>
/** Top up an account: `POST /admin/v1/accounts/{id}/top-ups`. */
topUp(id: string, params: CreateTopUpParams, options?: RequestOptions): Promise<CreatedMovement>
/** Adjust a balance: `POST /admin/v1/accounts/{id}/adjustments`. */
adjust(id: string, params: CreateAdjustmentParams, options?: RequestOptions): Promise<CreatedMovement>
/** List the movements of an account: `GET /admin/v1/accounts/{id}/movements`. */
movements(id: string, params?: ListMovementsParams, options?: RequestOptions): List<ListMovementsResponse, AccountMovement>
/** List the statements of an account: `GET /admin/v1/accounts/{id}/statements`. */
statements(id: string, options?: RequestOptions): List<ListAccountStatementsResponse, StatementMonth>
/** Get the statement of an account for a month: `GET /admin/v1/accounts/{id}/statements/{month}`. */
statement(id: string, month: string, params: GetAccountStatementParams & { format: "csv" | "html" }, options?: RequestOptions): Promise<string>
statement(id: string, month: string, params?: GetAccountStatementParams, options?: RequestOptions): Promise<Statement>
}
plans: {
/** Create a plan: `POST /admin/v1/plans`. */
create(params: CreatePlanParams, options?: RequestOptions): Promise<Plan>
/** List plans: `GET /admin/v1/plans`. */
list(params?: ListPlansParams, options?: RequestOptions): List<ListPlansResponse, Plan>
/** Get a plan: `GET /admin/v1/plans/{id}`. */
get(id: string, options?: RequestOptions): Promise<Plan>
/** Update a plan: `PATCH /admin/v1/plans/{id}`. */
update(id: string, params?: UpdatePlanParams, options?: RequestOptions): Promise<Plan>
/** Delete a plan: `DELETE /admin/v1/plans/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeletePlanResponse>
}
keys: {
/** Create a key: `POST /admin/v1/accounts/{id}/keys`. */
create(id: string, params: CreateKeyParams, options?: RequestOptions): Promise<CreateKeyResponse>
/** List keys: `GET /admin/v1/keys`. */
list(params?: ListKeysParams, options?: RequestOptions): List<ListKeysResponse, Key>
/** Get a key: `GET /admin/v1/keys/{id}`. */
get(id: string, options?: RequestOptions): Promise<Key>
/** Update a key: `PATCH /admin/v1/keys/{id}`. */
update(id: string, params?: UpdateKeyParams, options?: RequestOptions): Promise<Key>
/** Rotate a key: `POST /admin/v1/keys/{id}/rotate`. */
rotate(id: string, params?: RotateKeyParams, options?: RequestOptions): Promise<CreateKeyResponse>
/** Delete a key: `DELETE /admin/v1/keys/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeleteKeyResponse>
}
operatorKeys: {
/** Create an operator key: `POST /admin/v1/operator-keys`. */
create(params: CreateOperatorKeyParams, options?: RequestOptions): Promise<CreateKeyResponse>
}
receipts: {
/** Refund a task or request: `POST /admin/v1/receipts/{id}/refunds`. */
refund(id: string, params: CreateRefundParams, options?: RequestOptions): Promise<CreatedRefund>
/** Get the receipt of any task or request: `GET /admin/v1/receipts/{id}`. */
get(id: string, options?: RequestOptions): Promise<GetAnyReceiptResponse>
}
ledger: {
/** List ledger entries: `GET /admin/v1/ledger`. */
list(params?: ListLedgerEntriesParams, options?: RequestOptions): List<ListLedgerEntriesResponse, LedgerEntry>
/** Get the last ledger audit: `GET /admin/v1/ledger/audit`. */
audit(options?: RequestOptions): Promise<LedgerAudit>
/** Run a ledger audit: `POST /admin/v1/ledger/audit`. */
runAudit(options?: RequestOptions): Promise<LedgerAudit>
}
prices: {
/** List prices: `GET /admin/v1/prices`. */
list(params?: ListPricesParams, options?: RequestOptions): List<ListPricesResponse, PriceVersion>
/** Set a price: `POST /admin/v1/prices`. */
set(params: SetPriceParams, options?: RequestOptions): Promise<PriceVersion>
}
overview: {
/** Get an overview of the instance: `GET /admin/v1/overview`. */
get(options?: RequestOptions): Promise<Overview>
}
health: {
/** Get the health of the service with reasons: `GET /admin/v1/health`. */
get(options?: RequestOptions): Promise<GetHealthResponse>
}
providerProtocols: {
/** List the protocols of providers: `GET /admin/v1/provider-protocols`. */
list(options?: RequestOptions): List<ListProviderProtocolsResponse, ListProviderProtocolsItem>
}
providers: {
/** List providers: `GET /admin/v1/providers`. */
list(params?: ListProvidersParams, options?: RequestOptions): List<ListProvidersResponse, Provider>
/** Get a provider: `GET /admin/v1/providers/{name}`. */
get(name: string, options?: RequestOptions): Promise<Provider>
/** Create or replace a provider: `PUT /admin/v1/providers/{name}`. */
set(name: string, params: SetProviderParams, options?: RequestOptions): Promise<Provider>
/** Delete a provider: `DELETE /admin/v1/providers/{name}`. */
delete(name: string, options?: RequestOptions): Promise<DeleteProviderResponse>
/** Reset the health of a provider: `POST /admin/v1/providers/{name}/reset-health`. */
resetHealth(name: string, options?: RequestOptions): Promise<ResetProviderHealthResponse>
/** Test the address and the key of a provider: `POST /admin/v1/providers/{name}/test`. */
test(name: string, options?: RequestOptions): Promise<TestProviderResponse>
}
models: {
/** List the kinds of models: `GET /admin/v1/model-kinds`. */
kinds(options?: RequestOptions): List<ListModelKindsResponse, ListModelKindsItem>
/** List the models of the catalog: `GET /admin/v1/models`. */
list(params?: ListModelEntriesParams, options?: RequestOptions): List<ListModelEntriesResponse, ModelEntry>
/** Get a model of the catalog: `GET /admin/v1/models/{id}`. */
get(id: string, options?: RequestOptions): Promise<ModelEntry>
/** Add or change a model: `PUT /admin/v1/models/{id}`. */
set(id: string, params: SetModelEntryParams, options?: RequestOptions): Promise<ModelEntry>
/** Delete the settings of a model: `DELETE /admin/v1/models/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeleteModelEntryResponse>
/** Get the routes of a model: `GET /admin/v1/models/{id}/routes`. */
routes(id: string, options?: RequestOptions): Promise<ModelRoutes>
/** Set the routes of a model: `PUT /admin/v1/models/{id}/routes`. */
setRoutes(id: string, params: SetModelRoutesParams, options?: RequestOptions): Promise<ModelRoutes>
/** Explain the choice of a route: `POST /admin/v1/models/{id}/routes/explain`. */
explainRoutes(id: string, params?: ExplainModelRoutesParams, options?: RequestOptions): Promise<RouteExplanation>
/** Delete the routes of a model: `DELETE /admin/v1/models/{id}/routes`. */
deleteRoutes(id: string, options?: RequestOptions): Promise<ModelRoutes>
}
tasks: {
/** Search tasks: `GET /admin/v1/tasks`. */
list(params?: ListTasksParams, options?: RequestOptions): List<ListTasksResponse, AdminTask>
/** Get a task with its history: `GET /admin/v1/tasks/{id}`. */
get(id: string, options?: RequestOptions): Promise<GetTaskResponse>
/** Get the prompt and parameters of a task: `GET /admin/v1/tasks/{id}/order`. */
order(id: string, options?: RequestOptions): Promise<GetTaskOrderResponse>
/** Retry a failed task: `POST /admin/v1/tasks/{id}/retry`. */
retry(id: string, options?: RequestOptions): Promise<AdminTask>
/** Cancel a task: `POST /admin/v1/tasks/{id}/cancel`. */
cancel(id: string, options?: RequestOptions): Promise<AdminTask>
/** Decide about a task whose submit has an unknown outcome: `POST /admin/v1/tasks/{id}/resolve`. */
resolve(id: string, params: ResolveTaskParams, options?: RequestOptions): Promise<AdminTask>
/** Explain what happened to a task: `GET /admin/v1/tasks/{id}/explanation`. */
explain(id: string, options?: RequestOptions): Promise<ExplainTaskResponse>
/** Get the timeline of a task: `GET /admin/v1/tasks/{id}/timeline`. */
timeline(id: string, options?: RequestOptions): Promise<GetTaskTimelineResponse>
/** Download the result of a video task: `GET /admin/v1/tasks/{id}/content`. */
content(id: string, params?: GetTaskContentParams, options?: RequestOptions): Promise<MediaFile>
}
requests: {
/** List errors by cause: `GET /admin/v1/requests/errors`. */
errors(params?: ListRequestErrorsParams, options?: RequestOptions): List<ListRequestErrorsResponse, RequestErrorGroup>
/** Search the request log: `GET /admin/v1/requests`. */
list(params?: ListRequestsParams, options?: RequestOptions): List<ListRequestsResponse, LoggedRequest>
/** Find a request by its id: `GET /admin/v1/requests/{id}`. */
get(id: string, options?: RequestOptions): Promise<LoggedRequest>
}
usage: {
/** Get usage of all accounts: `GET /admin/v1/usage`. */
get(params: GetTotalUsageParams & { format: "csv" }, options?: RequestOptions): Promise<string>
get(params?: GetTotalUsageParams, options?: RequestOptions): List<GetTotalUsageResponse, TotalUsageRow>
}
events: {
/** List or follow the events of all accounts: `GET /admin/v1/events`. */
list(params: ListAllEventsParams & { stream: true }, options?: RequestOptions): EventStream<AdminEvent>
list(params?: ListAllEventsParams, options?: RequestOptions): List<ListAllEventsResponse, AdminEvent>
}
auditLog: {
/** List the audit log: `GET /admin/v1/audit-log`. */
list(params?: ListAuditEntriesParams, options?: RequestOptions): List<ListAuditEntriesResponse, AuditEntry>
/** Verify the audit log: `GET /admin/v1/audit-log/verification`. */
verify(params?: VerifyAuditLogParams, options?: RequestOptions): Promise<VerifyAuditLogResponse>
}
settings: {
/** Get the settings: `GET /admin/v1/settings`. */
get(options?: RequestOptions): Promise<InstanceSettings>
/** Update the settings: `PATCH /admin/v1/settings`. */
update(params?: UpdateSettingsParams, options?: RequestOptions): Promise<InstanceSettings>
}
docs: {
/** Get the OpenAPI document of the admin API: `GET /admin/v1/openapi.json`. */
openapi(options?: RequestOptions): Promise<Record<string, unknown>>
}
}
