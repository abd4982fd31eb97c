import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { useFeed } from '../live/feed.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Money } from '../ui/values.tsx'

import styles from './balance.module.css'

/** The account of the session, with its money. */
export const meQuery = queryOptions({ queryKey: ['me'], queryFn: () => kinora.me.get() })

/** While events keep coming, the balance is read this often. */
const busyMs = 10_000

/** What the account of the session can spend. */
export const Balance = () => {
  const texts = useTexts(commonTexts)
  const { data, dataUpdatedAt } = useQuery(meQuery)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  useFeed(({ type }) => {
    // Progress moves no money.
    if (type === 'video.progress' || timer.current !== undefined) return
    const read = () => {
      timer.current = undefined
      void queryClient.invalidateQueries({ queryKey: ['me'] })
    }
    timer.current = setTimeout(read, Math.max(0, dataUpdatedAt + busyMs - Date.now()))
  })
  if (data === undefined) return null
  return (
    <span className={styles['balance']}>
      <span className="muted wide-only">{texts.balance}</span>
      <Money micros={data.balance.available_micros} currency={data.balance.currency} />
    </span>
  )
}
