import { ArrowDown } from 'lucide-react'

import { useTexts } from '../i18n/texts.ts'
import { taskTexts } from './texts.ts'

import styles from './tasks-page.module.css'

/** Says how many new tasks there are. It floats, so that no row moves before it is pressed. */
export const FreshBar = ({
  count,
  hasGap,
  onShow,
}: {
  count: number
  hasGap: boolean
  onShow: () => void
}) => {
  const texts = useTexts(taskTexts)
  return (
    <div className={styles['fresh']} role="status">
      {count > 0 && (
        <button type="button" onClick={onShow} aria-keyshortcuts=".">
          <ArrowDown aria-hidden />
          {texts.fresh(count, hasGap)}
          <kbd className="wide-only" title={texts.freshKey} aria-hidden>
            .
          </kbd>
        </button>
      )}
    </div>
  )
}
