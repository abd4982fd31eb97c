/** `kinora plans` and `kinora top-up`. */
import type { Plan } from '@kinora/client/admin'

import { connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { UsageError } from '../frame/usage-error.ts'
import { formatMoney } from '../terminal/format.ts'
import { printFields } from '../terminal/print-fields.ts'
import { cleanText, print, printJson } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { findAccountId, findPlan } from './find-named.ts'
import { omitAbsent, readAmount } from './read-amount.ts'

type CommonInput = OperatorInput & { json: boolean }

const showPlan = (plan: Plan): void =>
  printFields([
    ['id', plan.id],
    ['name', plan.name, 'bold'],
    ['quota', `${formatMoney(plan.cycle_quota_micros, plan.currency)} per ${plan.cycle_days} days`],
    ['subscribers', String(plan.subscribers)],
  ])

export const listPlans = async (input: CommonInput & { limit: number }): Promise<void> => {
  const admin = await connectOperator(input)
  const page = await admin.plans.list({ limit: input.limit })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    { title: 'name', cell: ({ name }) => name, isFlexible: true },
    {
      title: 'quota',
      cell: ({ cycle_quota_micros: quota, currency }) => formatMoney(quota, currency),
      isRight: true,
    },
    { title: 'days', cell: ({ cycle_days: days }) => String(days), isRight: true },
    { title: 'accounts', cell: ({ subscribers }) => String(subscribers), isRight: true },
  ])
}

export const createPlan = async (
  input: CommonInput & { name: string; quota: string; days: number; currency: string | undefined },
): Promise<void> => {
  const quota = readAmount('--quota', input.quota)
  const admin = await connectOperator(input)
  const plan = await admin.plans.create({
    name: input.name,
    cycle_quota_micros: quota,
    cycle_days: input.days,
    ...omitAbsent({ currency: input.currency }),
  })
  return input.json ? printJson(plan) : showPlan(plan)
}

export const updatePlan = async (
  input: CommonInput & {
    plan: string
    name: string | undefined
    quota: string | undefined
    days: number | undefined
    currency: string | undefined
  },
): Promise<void> => {
  const change = omitAbsent({
    name: input.name,
    cycle_quota_micros: input.quota === undefined ? undefined : readAmount('--quota', input.quota),
    cycle_days: input.days,
  })
  if (Object.keys(change).length === 0) throw new UsageError('There is nothing to change. Name an option.')
  const admin = await connectOperator(input)
  const { id } = await findPlan(admin, input.plan)
  const plan = await admin.plans.update(id, { ...change, ...omitAbsent({ currency: input.currency }) })
  return input.json ? printJson(plan) : showPlan(plan)
}

export const topUp = async (
  input: CommonInput & {
    account: string
    amount: string
    currency: string | undefined
    wallet: 'payg' | 'subscription'
    reason: string
    reference: string | undefined
  },
): Promise<void> => {
  const amount = readAmount('<amount>', input.amount)
  const admin = await connectOperator(input)
  const id = (await findAccountId(admin, input.account)) ?? ''
  const movement = await admin.accounts.topUp(id, {
    amount_micros: amount,
    wallet: input.wallet,
    reason: input.reason,
    // With a reference, money moves once even if the response is lost and the request is sent again.
    reference: input.reference ?? `kinora-${crypto.randomUUID()}`,
    ...omitAbsent({ currency: input.currency }),
  })
  if (input.json) return printJson(movement)
  const { currency, balance } = movement
  print(
    `Added ${formatMoney(movement.amount_micros, currency)} to ${cleanText(movement.account_name)}; the balance is ${formatMoney(balance.available_micros, balance.currency)}.`,
  )
}
