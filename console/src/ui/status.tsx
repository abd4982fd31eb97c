import type { ReactNode } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'

import styles from './status.module.css'

export type TaskStatus = 'queued' | 'pending' | 'processing' | 'completed' | 'failed' | 'cancelled'

interface StatusProps {
  status: string
  /** Per cent of a task that is processing. */
  progress?: number
  /** Instead of the word, such as the place in the queue. */
  children?: ReactNode
  /** In lists, only running and failed tasks have a background. */
  isBare?: boolean
}

const known = (status: string): TaskStatus => {
  if (status === 'in_progress') return 'processing'
  return ['pending', 'processing', 'completed', 'failed', 'cancelled'].includes(status)
    ? (status as TaskStatus)
    : 'queued'
}

/** Dot and word. The shape of the dot differs too. */
export const Status = ({ status, progress, children, isBare = false }: StatusProps) => {
  const texts = useTexts(commonTexts)
  const name = known(status)
  const isQuiet = isBare && name !== 'processing' && name !== 'failed'
  const word =
    children ??
    (name === 'processing' && progress !== undefined && progress > 0 ? `${progress} %` : texts.status[name])
  return (
    <span
      className={`${styles['status']} ${styles[name]} ${isQuiet ? styles['bare'] : ''}`}
      data-status={name}
    >
      <i aria-hidden ref={(dot) => dot?.style.setProperty('--progress', `${progress ?? 50}%`)} />
      {word}
    </span>
  )
}

export const Tag = ({
  color = 'grey',
  children,
}: {
  color?: 'grey' | 'blue' | 'green' | 'amber' | 'red'
  children: ReactNode
}) => <span className={`${styles['tag']} ${styles[color]}`}>{children}</span>

interface BarProps {
  /** From 0 to 1. */
  share: number
  label: string
  color?: 'accent' | 'grey' | 'green' | 'amber' | 'red'
}

/** A thin bar, such as the used part of a quota. */
export const Bar = ({ share, label, color = 'accent' }: BarProps) => (
  <div
    className={styles['bar']}
    role="meter"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={Math.round(Math.min(1, Math.max(0, share)) * 100)}
  >
    <i
      className={styles[`${color}Fill`]}
      ref={(fill) => fill?.style.setProperty('width', `${Math.min(1, Math.max(0, share)) * 100}%`)}
    />
  </div>
)
