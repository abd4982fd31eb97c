/** What was held, charged and returned, and how the price was made. Operators can refund here. */
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { formatMoney, formatNumber, shortenId } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { queryClient } from '../../../queries.ts'
import { kinora, kinoraAdmin } from '../../../service.ts'
import { hasRole, useSession } from '../../../session/session.ts'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { ErrorPanel, Skeleton } from '../../../ui/feedback.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Confirm } from '../../../ui/sheet.tsx'
import { Tag } from '../../../ui/status.tsx'
import { showToast } from '../../../ui/toast.tsx'
import { Money } from '../../../ui/values.tsx'
import { refreshTask, taskKey, type TaskView } from '../task-data.ts'
import { taskTexts } from '../texts.ts'

import styles from './receipt-card.module.css'

const readReceipt = async (id: string, isOwn: boolean, hasOperator: boolean) => {
  const [receipt, internal] = await Promise.all([
    isOwn ? kinora.receipts.get(id) : kinoraAdmin.receipts.get(id),
    hasOperator ? kinoraAdmin.receipts.get(id) : null,
  ])
  return { ...receipt, internal }
}

const receiptQuery = ({ id, own, any, status }: TaskView) =>
  queryOptions({
    queryKey: [...taskKey(id), 'receipt', status],
    queryFn: () => readReceipt(id, own !== null, any !== null),
    placeholderData: (previous: Awaited<ReturnType<typeof readReceipt>> | undefined) => previous,
  })

/** `1.5` in millionths; undefined if it is no amount. */
const parseAmount = (text: string): number | undefined => {
  const cleaned = text.trim().replace(',', '.')
  return /^\d{1,9}(\.\d{1,6})?$/.test(cleaned) ? Math.round(Number(cleaned) * 1_000_000) : undefined
}

interface RefundProps {
  view: TaskView
  restMicros: number
  onClose: () => void
}

const Refund = ({ view, restMicros, onClose }: RefundProps) => {
  const { refund: texts } = useTexts(taskTexts)
  const { id, currency, account } = view
  const [amount, setAmount] = useState(String(restMicros / 1_000_000))
  const [reason, setReason] = useState('')
  const [isChecked, setChecked] = useState(false)
  // Two presses move the money once.
  const [reference] = useState(() => `console-${crypto.randomUUID()}`)
  const micros = parseAmount(amount)
  const isAmount = micros !== undefined && micros > 0 && micros <= restMicros
  const isReason = reason.trim() !== ''
  const max = formatMoney(restMicros, currency)
  const refund = useMutation({
    mutationFn: async (amountMicros: number) => {
      const body = { amount_micros: amountMicros, reason: reason.trim(), reference }
      await kinoraAdmin.receipts.refund(id, body)
      await refreshTask(id)
    },
    onSuccess: (_, amountMicros) => {
      void queryClient.invalidateQueries({ queryKey: ['me'] })
      showToast(texts.done(formatMoney(amountMicros, currency)))
      onClose()
    },
  })
  return (
    <Confirm
      isOpen
      question={texts.question(shortenId(id))}
      action={isAmount ? texts.action(formatMoney(micros, currency)) : texts.actionPlain}
      isBusy={refund.isPending}
      error={refund.error}
      onClose={onClose}
      onConfirm={() => {
        setChecked(true)
        if (isAmount && isReason) refund.mutate(micros)
      }}
    >
      <p>{texts.detail(account?.name ?? '')}</p>
      <TextField
        label={texts.amount}
        range={texts.range(max)}
        unit={currency}
        value={amount}
        onChange={setAmount}
        autoComplete="off"
        {...(!isAmount && { error: texts.invalid(max) })}
      />
      <TextField
        label={texts.reason}
        help={texts.reasonHelp}
        value={reason}
        onChange={setReason}
        maxLength={500}
        autoComplete="off"
        autoFocus
        {...(isChecked && !isReason && { error: texts.reasonMissing })}
      />
    </Confirm>
  )
}

export const ReceiptCard = ({ view }: { view: TaskView }) => {
  const { receipt: texts } = useTexts(taskTexts)
  const session = useSession()
  const { data: receipt, error, refetch } = useQuery(receiptQuery(view))
  const [isRefunding, setRefunding] = useState(false)
  if (receipt === undefined) {
    return (
      <Card title={texts.title}>
        {error === null ? (
          <Skeleton height={view.any === null ? 168 : 250} />
        ) : (
          <ErrorPanel error={error} onRetry={() => void refetch()} />
        )}
      </Card>
    )
  }
  const {
    currency,
    hold_micros: held,
    captured_micros: captured,
    refunded_micros: refunded,
    internal,
  } = receipt
  const amount = (micros: number) => <Money micros={micros} currency={currency} />
  const restMicros = (captured ?? 0) - refunded
  const mayRefund = view.any !== null && hasRole(session, 'finance') && restMicros > 0
  const version = receipt.lines.find((line) => line.version !== undefined)?.version
  return (
    <Card
      title={texts.title}
      actions={
        captured === null ? (
          <Tag color="amber">{texts.held}</Tag>
        ) : captured === 0 || restMicros === 0 ? (
          <Tag>{texts.returned}</Tag>
        ) : (
          <Tag color="green">{texts.settled}</Tag>
        )
      }
    >
      <dl className={styles['receipt']}>
        {receipt.lines.map((line, index) => (
          <div key={index}>
            <dt>
              {texts.line(
                formatNumber(Number(line.quantity) / line.unit_size, 3),
                texts.units[line.unit] ?? line.unit,
                formatMoney(line.unit_micros, line.currency),
              )}
              {line.resolution !== undefined && ` · ${line.resolution}`}
            </dt>
            <dd>{amount(line.total_micros)}</dd>
          </div>
        ))}
        <div className={styles['sum']}>
          <dt>{captured === null ? texts.lineHeld : texts.lineCharged}</dt>
          <dd>{amount(captured ?? held)}</dd>
        </div>
        {captured !== null && (
          <>
            <div>
              <dt>{texts.lineHeld}</dt>
              <dd>{amount(held)}</dd>
            </div>
            <div>
              <dt>{texts.lineReturned}</dt>
              <dd>{amount(receipt.released_micros ?? 0)}</dd>
            </div>
          </>
        )}
        {refunded > 0 && (
          <div>
            <dt>{texts.lineRefunded}</dt>
            <dd>{amount(refunded)}</dd>
          </div>
        )}
        {internal !== null && captured !== null && (
          <div className={styles['internal']}>
            <dt>{texts.cost}</dt>
            <dd>{internal.cost_micros === null ? texts.unknown : amount(internal.cost_micros)}</dd>
          </div>
        )}
        {internal !== null && internal.margin_micros !== null && (
          <div>
            <dt>{texts.margin}</dt>
            <dd>{amount(internal.margin_micros)}</dd>
          </div>
        )}
      </dl>
      {version !== undefined && (
        <p className={`${styles['version']} muted small-text`}>{texts.version(version)}</p>
      )}
      {mayRefund && (
        <div className={styles['refund']}>
          <Button variant="danger" size="small" onPress={() => setRefunding(true)}>
            {(refunded > 0 ? texts.refundRest : texts.refund)(formatMoney(restMicros, currency))}
          </Button>
        </div>
      )}
      {isRefunding && mayRefund && (
        <Refund view={view} restMicros={restMicros} onClose={() => setRefunding(false)} />
      )}
    </Card>
  )
}
