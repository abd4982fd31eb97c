import type { ReactNode } from 'react'

import styles from './card.module.css'

interface CardProps {
  title?: ReactNode
  /** Beside the title, muted. */
  note?: ReactNode
  actions?: ReactNode
  /** Without padding, for tables and lists. */
  isFlush?: boolean
  children: ReactNode
  'aria-label'?: string
}

export const Card = ({ title, note, actions, isFlush = false, children, ...rest }: CardProps) => (
  <section className={styles['card']} {...rest}>
    {(title !== undefined || actions !== undefined) && (
      <header className={styles['header']}>
        {title !== undefined && <h2 className={styles['title']}>{title}</h2>}
        {note !== undefined && <span className={styles['note']}>{note}</span>}
        {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
      </header>
    )}
    <div className={isFlush ? styles['flush'] : styles['inside']}>{children}</div>
  </section>
)

/** Names and values, one line each. */
export const Facts = ({ rows }: { rows: (readonly [name: ReactNode, value: ReactNode] | undefined)[] }) => (
  <dl className={styles['facts']}>
    {rows.map(
      (row, index) =>
        row !== undefined && (
          // The rows of one list do not move.
          <div key={index}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
    )}
  </dl>
)
