/** `kinora tasks`: searches, explains, retries and refunds tasks. */
import type { AdminTask, ListTasksParams } from '@kinora/client/admin'

import { connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { confirmChange } from '../terminal/ask.ts'
import { formatMoney, formatTime, styleOfStatus } from '../terminal/format.ts'
import { cleanText, isTerminal, print, printJson, style, tell, wrapFrom } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { findAccountId } from './find-named.ts'
import { omitAbsent, readAmount } from './read-amount.ts'

type CommonInput = OperatorInput & { json: boolean }
type OneInput = CommonInput & { id: string }

const describeCost = ({ captured_micros: captured, hold_micros: held, currency }: AdminTask) =>
  captured === null ? `${formatMoney(held, currency)} held` : formatMoney(captured, currency)

export const listTasks = async (
  input: CommonInput & {
    account: string | undefined
    model: string | undefined
    provider: string | undefined
    status: ListTasksParams['status'] | undefined
    error: string | undefined
    limit: number
  },
): Promise<void> => {
  const admin = await connectOperator(input)
  const { model, provider, status, limit } = input
  const accountId = await findAccountId(admin, input.account)
  const page = await admin.tasks.list({
    limit,
    ...omitAbsent({ account_id: accountId, model, provider, status, error_code: input.error }),
  })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    {
      title: 'status',
      cell: (task) => task.error?.code ?? task.status,
      style: (task) => styleOfStatus(task.status),
    },
    { title: 'account', cell: ({ account_name: name }) => name, isFlexible: true },
    { title: 'provider', cell: ({ provider: name }) => name ?? '' },
    { title: 'cost', cell: describeCost, isRight: true },
    { title: 'created', cell: ({ created_at: at }) => formatTime(at) },
  ])
}

export const explainTask = async (input: OneInput): Promise<void> => {
  const admin = await connectOperator(input)
  const explanation = await admin.tasks.explain(input.id)
  if (input.json) return printJson(explanation)
  const [first = '', ...others] = explanation.sentences.map(cleanText)
  print(style('bold', wrapFrom(0, first)))
  // On a terminal the sentences are apart, because each may take several lines.
  for (const sentence of others) print(isTerminal() ? `\n${wrapFrom(0, sentence)}` : sentence)
}

export const retryTask = async (input: OneInput): Promise<void> => {
  const admin = await connectOperator(input)
  const task = await admin.tasks.retry(input.id)
  if (input.json) return printJson(task)
  print(task.id)
  tell(`A new task of ${cleanText(task.account_name)}, for ${formatMoney(task.hold_micros, task.currency)}.`)
}

export const refundTask = async (
  input: OneInput & {
    amount: string | undefined
    currency: string | undefined
    reason: string
    reference: string | undefined
    yes: boolean
  },
): Promise<void> => {
  const amount = input.amount === undefined ? undefined : readAmount('<amount>', input.amount)
  const admin = await connectOperator(input)
  const receipt = await admin.receipts.get(input.id)
  const open = (receipt.captured_micros ?? 0) - receipt.refunded_micros
  const shown = formatMoney(amount ?? open, input.currency ?? receipt.currency)
  await confirmChange(`Refund ${shown} to ${receipt.account_name} for ${receipt.id}?`, input.yes)
  const refund = await admin.receipts.refund(input.id, {
    reason: input.reason,
    // With a reference, the refund is made once even if its response is lost and the request is sent again.
    reference: input.reference ?? `kinora-${crypto.randomUUID()}`,
    ...omitAbsent({ amount_micros: amount, currency: input.currency }),
  })
  if (input.json) return printJson(refund)
  const { currency } = refund
  print(
    `Refunded ${formatMoney(refund.amount_micros, currency)} to ${cleanText(refund.account_name)}; ${formatMoney(refund.refunded_micros, currency)} of ${formatMoney(refund.captured_micros, currency)} in total.`,
  )
}
