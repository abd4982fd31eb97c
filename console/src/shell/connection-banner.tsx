import { CloudOff, Wifi } from 'lucide-react'
import { useEffect, useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { reconnect, useConnection } from '../live/feed.ts'
import { Button } from '../ui/button.tsx'

import styles from './connection-banner.module.css'

/** How long the banner says that the connection is back. */
const backMs = 2_000

export const ConnectionBanner = () => {
  const texts = useTexts(commonTexts)
  const { state, lostAt, backAt } = useConnection()
  const [hiddenFor, setHiddenFor] = useState<number>()
  useEffect(() => {
    if (backAt === undefined) return undefined
    const timer = setTimeout(() => setHiddenFor(backAt), backMs)
    return () => clearTimeout(timer)
  }, [backAt])
  if (state === 'lost' && lostAt !== undefined)
    return (
      <div className={styles['lost']} role="alert">
        <CloudOff aria-hidden />
        <p className="grow">
          <strong>{texts.lost.title(formatTime(lostAt / 1_000))}</strong> {texts.lost.detail}
        </p>
        <Button size="small" onPress={reconnect}>
          {texts.lost.retry}
        </Button>
      </div>
    )
  if (backAt === undefined || hiddenFor === backAt) return null
  return (
    <div className={styles['back']} role="status">
      <Wifi aria-hidden />
      {texts.lost.back}
    </div>
  )
}
