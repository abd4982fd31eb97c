/** What every screen consists of: the bar at the top, and its content. */
import { Link, type LinkProps } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { useConnection } from '../live/feed.ts'

import styles from './page.module.css'

export interface PageTab {
  label: string
  to: NonNullable<LinkProps['to']>
}

interface PageProps {
  title: string
  /** Instead of the title in the bar, such as a path of links. The title remains that of the browser's tab. */
  heading?: ReactNode
  tabs?: PageTab[]
  /** At the right: the balance, and the one main action. */
  actions?: ReactNode
  children: ReactNode
}

export const Page = ({ title, heading, tabs = [], actions, children }: PageProps) => {
  const texts = useTexts(commonTexts)
  const { state } = useConnection()
  useEffect(() => {
    document.title = `${title} · Kinora`
  }, [title])
  const tabLinks = tabs.map(({ label, to }) => (
    <Link key={label} to={to} className={styles['tab'] ?? ''} activeProps={{ 'aria-current': 'page' }}>
      {label}
    </Link>
  ))
  return (
    <>
      <header className={styles['top']}>
        {heading ?? <h1>{title}</h1>}
        {tabs.length > 0 && (
          <nav className={`${styles['tabs']} wide-only`} aria-label={title}>
            {tabLinks}
          </nav>
        )}
        <div className={styles['right']}>
          {state === 'live' && <span className={`${styles['live']} wide-only`}>{texts.live}</span>}
          {actions}
        </div>
      </header>
      {tabs.length > 0 && (
        <nav className={`${styles['tabs']} ${styles['below']} phone-only`} aria-label={title}>
          {tabLinks}
        </nav>
      )}
      <main className={styles['page']} id="content">
        {children}
      </main>
    </>
  )
}
