/** A table whose rows may be links, and become cards on phones. */
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import styles from './table.module.css'

interface TableProps {
  label: string
  /** The last column may have no name, for actions. */
  columns: ReactNode[]
  children: ReactNode
}

export const Table = ({ label, columns, children }: TableProps) => (
  <div className={styles['frame']}>
    <table className={styles['table']} aria-label={label}>
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th key={index} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

interface RowProps {
  /** The row has a `RowLink`. */
  isLink?: boolean
  /** Without effect any more, such as an expired key. */
  isQuiet?: boolean
  children: ReactNode
}

export const Row = ({ isLink = false, isQuiet = false, children }: RowProps) => (
  <tr data-link={isLink || undefined} data-quiet={isQuiet || undefined}>
    {children}
  </tr>
)

interface CellProps {
  /** The name of the column, shown on phones. */
  name?: string
  /** On phones at the top right, for actions. */
  isCorner?: boolean
  children?: ReactNode
}

export const Cell = ({ name, isCorner = false, children }: CellProps) => (
  <td data-name={name} data-corner={isCorner || undefined}>
    {isCorner ? <span className={styles['action']}>{children}</span> : children}
  </td>
)

/** Covers its row. */
export const RowLink = ({ children, ...rest }: LinkProps & { children: ReactNode }) => (
  <Link {...rest} className={styles['link'] ?? ''}>
    {children}
  </Link>
)
