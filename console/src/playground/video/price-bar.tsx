/** What the run costs and leaves, and the button that starts it. On phones it is fixed above the navigation. */
import type { Quote } from '@kinora/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, type ReactNode } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { formatMoney, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { meQuery } from '../../shell/balance.tsx'
import { Button } from '../../ui/button.tsx'
import { videoTexts, type VideoTexts } from './texts.ts'

import styles from './price-bar.module.css'

const isApple = /mac|iphone|ipad/i.test(navigator.platform)

interface PriceBarProps {
  quotes: Quote[] | undefined
  /** New quotes are on their way. */
  isOld: boolean
  action: string
  isBusy: boolean
  /** Why it cannot run. */
  problem: string | undefined
  onRun: () => void
  /** What would be cheaper, as buttons. Shown if the money is missing. */
  cheaper?: ReactNode
  error?: ReactNode
}

const describeLines = ({ lines }: Quote, texts: VideoTexts): string =>
  lines
    .map(({ unit, unit_micros: micros, quantity, currency }) =>
      texts.priceLine(formatNumber(Number(quantity), 3), unit, formatMoney(micros, currency)),
    )
    .join(' + ')

export const PriceBar = ({
  quotes,
  isOld,
  action,
  isBusy,
  problem,
  onRun,
  cheaper,
  error,
}: PriceBarProps) => {
  const texts = useTexts(videoTexts)
  const reasons = useReasons()
  const { data: me } = useQuery(meQuery)
  const total = quotes?.reduce((sum, quote) => sum + quote.total_micros, 0)
  const currency = quotes?.[0]?.currency ?? me?.balance.currency ?? ''
  const available = me?.balance.available_micros
  const missing = total === undefined || available === undefined ? 0 : total - available
  const refusal = quotes?.find(({ refusal: one }) => one !== null)?.refusal
  const isBlocked = problem !== undefined || refusal != null || missing > 0
  const run = () => {
    if (!isBlocked && !isBusy) onRun()
  }
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
    event.preventDefault()
    run()
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listen, true)
    return () => removeEventListener('keydown', listen, true)
  }, [])
  return (
    <div className={styles['bar']}>
      {error}
      {!isOld && (missing > 0 || refusal != null) && (
        <div className={styles['refusal']} role="status">
          <p>
            {missing > 0
              ? texts.missingMoney(formatMoney(missing, currency))
              : refusal == null
                ? null
                : reasons.ofCode(refusal)}
          </p>
          {missing > 0 && cheaper}
        </div>
      )}
      <div className={styles['line']}>
        <div className={styles['price']} data-is-old={isOld || undefined} aria-live="polite">
          {total === undefined || quotes === undefined ? (
            <p className="muted small-text">{texts.priceUnknown}</p>
          ) : (
            <>
              <p className={styles['total']}>{formatMoney(total, currency)}</p>
              <p className="muted small-text wide-only">
                {quotes.length === 1 && quotes[0] !== undefined
                  ? describeLines(quotes[0], texts)
                  : texts.compare.runs(quotes.length)}
              </p>
              {available !== undefined && missing <= 0 && (
                <p className="muted small-text">{texts.after(formatMoney(available - total, currency))}</p>
              )}
            </>
          )}
        </div>
        <Button
          variant="primary"
          size="large"
          isBusy={isBusy}
          isDisabled={isBlocked}
          onPress={run}
          {...(problem !== undefined && { 'aria-describedby': 'run-problem' })}
        >
          {action}
          <kbd className={`${styles['key']} wide-only`} aria-hidden>
            {isApple ? '⌘↵' : 'Ctrl ↵'}
          </kbd>
        </Button>
      </div>
      {problem !== undefined && (
        <p id="run-problem" className={`${styles['problem']} wide-only`}>
          {problem}
        </p>
      )}
    </div>
  )
}
