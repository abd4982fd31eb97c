/** Is the money right, and how much is held, captured and refunded? */
import { chart, figure, growth, rate, type Board } from './board.ts'

const moved = 'kinora_money_moved_total'
const perHour = (expression: string) => `3600 * ${expression}`

export const moneyBoard: Board = {
  title: 'money',
  description:
    'Is the money right, and how much is held, captured and refunded? Amounts are in units of the currency.',
  variables: [],
  rows: {
    'Is it right': [
      figure({
        title: 'Violations',
        help: 'What the last audit of the ledger found. Must be 0; see billing.md for the invariants.',
        unit: 'count',
        queries: { found: 'sum(max by (invariant) (kinora_ledger_violations))' },
        limits: { bad: 1 },
      }),
      figure({
        title: 'Held without a task or request',
        help: 'Money that is held in the balances minus the holds of open tasks and requests. Must be 0.',
        unit: 'money',
        queries: { difference: 'max(abs(kinora_ledger_difference))' },
        limits: { bad: 1e-6 },
      }),
      figure({
        title: 'Last audit of recent entries',
        help: 'It runs every minute. If it is late, violations are not found.',
        unit: 'seconds',
        queries: { age: 'min(kinora_ledger_audit_age_seconds{scope="recent"})' },
        limits: { warn: 180, bad: 600 },
      }),
      figure({
        title: 'Last audit of all entries',
        help: 'It runs daily.',
        unit: 'seconds',
        queries: { age: 'min(kinora_ledger_audit_age_seconds{scope="full"})' },
        limits: { warn: 100_000, bad: 180_000 },
      }),
      figure({
        title: 'Oldest hold',
        help: 'Requests are released after minutes, tasks after their deadline. An older hold keeps money from its customer.',
        unit: 'seconds',
        queries: { '{{owner}}': 'max by (owner) (kinora_money_oldest_hold_seconds)' },
        hasNames: true,
        next: 'tasks',
      }),
      figure({
        title: 'Currency',
        help: 'The currency of all amounts.',
        unit: 'count',
        queries: { '{{kinora_currency}}': 'count by (kinora_currency) (target_info{kinora_currency!=""})' },
        hasNames: true,
      }),
    ],
    'In this time range': [
      figure({
        title: 'Captured',
        help: 'Charged for completed work.',
        unit: 'money',
        queries: { captured: growth(moved, [], 'movement="capture"') },
      }),
      figure({
        title: 'Released',
        help: 'Held, and given back because the work failed, was cancelled or cost less.',
        unit: 'money',
        queries: { released: growth(moved, [], 'movement="release"') },
      }),
      figure({
        title: 'Refunded',
        help: 'Given back after it was captured.',
        unit: 'money',
        queries: { refunded: growth(moved, [], 'movement="refund"') },
      }),
      figure({
        title: 'Topped up',
        help: 'Paid in by customers.',
        unit: 'money',
        queries: { paid: growth(moved, [], 'movement="top_up"') },
      }),
      figure({
        title: 'Held now',
        help: 'Held for open tasks and requests.',
        unit: 'money',
        queries: { held: 'sum(max by (wallet) (kinora_money_held))' },
      }),
      figure({
        title: 'Available now',
        help: 'What customers can spend.',
        unit: 'money',
        queries: { available: 'sum(max by (wallet) (kinora_money_available))' },
      }),
    ],
    'How it moves': [
      chart({
        title: 'Holds and their ends, per hour',
        help: 'Holds should equal captures and releases after the time of a task.',
        unit: 'money',
        queries: {
          '{{movement}}': perHour(rate(moved, ['movement'], 'movement=~"hold|capture|release"')),
        },
      }),
      chart({
        title: 'Refunds, top-ups and corrections, per hour',
        help: 'Refunds are what was captured and given back. Adjustments are made by operators.',
        unit: 'money',
        queries: {
          '{{movement}}': perHour(rate(moved, ['movement'], 'movement!~"hold|capture|release"')),
        },
      }),
      chart({
        title: 'Released share of holds',
        help: 'How much of the money whose hold ended was not captured. If it rises, more work fails, or estimates are too high.',
        unit: 'share',
        queries: {
          released: `${rate(moved, [], 'movement="release"')} / ${rate(moved, [], 'movement=~"capture|release"')}`,
        },
      }),
      chart({
        title: 'Held',
        help: 'Money that is held for open tasks and requests, by wallet.',
        unit: 'money',
        queries: { '{{wallet}}': 'max by (wallet) (kinora_money_held)' },
        isStacked: true,
      }),
      chart({
        title: 'Available',
        help: 'Money that customers can spend, by wallet.',
        unit: 'money',
        queries: { '{{wallet}}': 'max by (wallet) (kinora_money_available)' },
        isStacked: true,
      }),
      chart({
        title: 'Oldest hold',
        help: 'The age of the oldest hold, by what it is for.',
        unit: 'seconds',
        queries: { '{{owner}}': 'max by (owner) (kinora_money_oldest_hold_seconds)' },
      }),
    ],
    'Audits of the ledger': [
      chart({
        title: 'Violations by invariant',
        help: 'Must be 0.',
        unit: 'count',
        queries: { '{{invariant}}': 'max by (invariant) (kinora_ledger_violations)' },
        limits: { bad: 1 },
      }),
      chart({
        title: 'Held without a task or request',
        help: 'Must be 0.',
        unit: 'money',
        queries: { difference: 'max(abs(kinora_ledger_difference))' },
      }),
      chart({
        title: 'Age of audits',
        help: 'Time since the last audit of recent entries, and of all.',
        unit: 'seconds',
        queries: { '{{scope}}': 'min by (scope) (kinora_ledger_audit_age_seconds)' },
      }),
    ],
  },
}
