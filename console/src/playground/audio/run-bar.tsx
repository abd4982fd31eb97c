/** The end of a form: what it costs, and the button that runs it. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { formatMoney } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { meQuery } from '../../shell/balance.tsx'
import { Money } from '../../ui/values.tsx'
import { audioTexts } from './texts.ts'

import styles from './run-bar.module.css'

interface RunBarProps {
  price: { micros: number; currency: string } | undefined
  /** In front of the price, such as "at most". */
  prefix?: string
  /** What the price is for. */
  detail: string
  children: ReactNode
}

export const RunBar = ({ price, prefix, detail, children }: RunBarProps) => {
  const texts = useTexts(audioTexts)
  const { data: me } = useQuery(meQuery)
  const left = price && me && me.balance.available_micros - price.micros
  return (
    <footer className={styles['bar']}>
      <div className="grow">
        <p className={styles['price']}>
          {prefix !== undefined && price !== undefined && <span className="muted">{prefix} </span>}
          {price === undefined ? '–' : <Money {...price} />}
        </p>
        <p className="muted small-text">{detail}</p>
        {left !== undefined && left >= 0 && price !== undefined && (
          <p className="muted small-text">{texts.balanceAfter(formatMoney(left, price.currency))}</p>
        )}
      </div>
      {children}
    </footer>
  )
}
