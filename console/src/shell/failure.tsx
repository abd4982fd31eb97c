import { Link } from '@tanstack/react-router'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { EmptyState, ErrorPanel } from '../ui/feedback.tsx'

import styles from './failure.module.css'

export const NotFound = () => {
  const texts = useTexts(commonTexts)
  return (
    <EmptyState
      title={texts.notFound.title}
      actions={
        <Link to="/" className="link">
          {texts.notFound.action}
        </Link>
      }
    />
  )
}

/** A screen that could not be shown. */
export const Failure = ({ error, reset }: { error: unknown; reset: () => void }) => (
  <div className={styles['failure']}>
    <ErrorPanel error={error} onRetry={reset} />
  </div>
)
