import { formatMoney, formatNumber } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Bar } from '../ui/status.tsx'
import { colorOf, shareOf, type Spending } from './key-state.ts'
import { keyTexts } from './texts.ts'

import styles from './spending-bar.module.css'

interface SpendingBarProps {
  spending: Spending
  currency: string
  /** Of the key. */
  name: string
}

/** What is used of a quota or a budget. */
export const SpendingBar = ({ spending, currency, name }: SpendingBarProps) => {
  const texts = useTexts(keyTexts)
  const { usedMicros, limitMicros, period } = spending
  return (
    <span className={styles['spending']}>
      <span className={styles['line']} title={`${formatNumber(usedMicros)} µ${currency}`}>
        <span>{formatMoney(usedMicros, currency)}</span>
        <span className="muted small-text">
          {`${formatMoney(limitMicros, currency)} ${texts.perPeriod[period]}`}
        </span>
      </span>
      <Bar
        share={shareOf(spending)}
        color={colorOf(spending)}
        label={`${name}: ${texts.usedOf(formatMoney(usedMicros, currency), formatMoney(limitMicros, currency))}`}
      />
    </span>
  )
}
