/** What a screen shows instead of its content: loading, nothing, an error. */
import { CircleAlert, Info, TriangleAlert } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'

import { useReasons } from '../errors/use-reasons.ts'
import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from './button.tsx'

import styles from './feedback.module.css'

/** Shown after 200 ms, with the height of the content that it stands for. */
export const Skeleton = ({ height, width = '100%' }: { height: number; width?: number | string }) => {
  const texts = useTexts(commonTexts)
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 200)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div
      role="status"
      aria-label={texts.loading}
      className={isShown ? styles['skeleton'] : ''}
      style={{ height, width }}
    />
  )
}

interface EmptyStateProps {
  title: ReactNode
  children?: ReactNode
  actions?: ReactNode
}

/** Says what to do next. */
export const EmptyState = ({ title, children, actions }: EmptyStateProps) => (
  <div className={styles['empty']}>
    <span className={styles['leaves']} aria-hidden>
      <i />
      <i />
      <i />
    </span>
    <h2>{title}</h2>
    {children !== undefined && <p className="muted">{children}</p>}
    {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
  </div>
)

interface NoteProps {
  kind?: 'info' | 'plain' | 'warning' | 'danger'
  children: ReactNode
  actions?: ReactNode
  role?: 'alert' | 'status'
}

export const Note = ({ kind = 'info', children, actions, role }: NoteProps) => {
  const Icon = kind === 'danger' ? CircleAlert : kind === 'warning' ? TriangleAlert : Info
  return (
    <div className={`${styles['note']} ${styles[kind]}`} {...(role !== undefined && { role })}>
      <Icon aria-hidden />
      <div className="grow">{children}</div>
      {actions}
    </div>
  )
}

/** What is wrong, what to do, and the id of the request. */
export const ErrorPanel = ({ error, onRetry }: { error: unknown; onRetry?: () => void }) => {
  const texts = useTexts(commonTexts)
  const { message, hint, original, requestId } = useReasons().ofError(error)
  return (
    <Note
      kind="danger"
      role="alert"
      {...(onRetry !== undefined && {
        actions: (
          <Button size="small" onPress={onRetry}>
            {texts.retry}
          </Button>
        ),
      })}
    >
      <p>{message}</p>
      {hint !== undefined && !message.includes(hint) && <p>{hint}</p>}
      {original !== undefined && (
        <p className="muted small-text" lang="en">
          {original}
        </p>
      )}
      {requestId !== undefined && <p className="muted small-text mono">{texts.requestId(requestId)}</p>}
    </Note>
  )
}
