/** The frame of every screen: navigation, the state of the connection, and keys for the whole console. */
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { BookOpen, Ellipsis, Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { startFeed } from '../live/feed.ts'
import { useSession } from '../session/session.ts'
import { Toasts } from '../ui/toast.tsx'
import { Brand } from './brand.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { navigation, visibleScreens } from './navigation.ts'
import { useShortcuts } from './shortcuts.ts'

import styles from './shell.module.css'

/** Its menu is a sixth of the scripts, which the first screen need not wait for. */
const UserMenu = lazy(async () => ({ default: (await import('./user-menu.tsx')).UserMenu }))
const JumpPalette = lazy(async () => ({ default: (await import('./jump-palette.tsx')).JumpPalette }))

/** `⌘` on Apple's systems. */
const isApple = /mac|iphone|ipad/i.test(navigator.platform)

export const Shell = () => {
  const texts = useTexts(commonTexts)
  const session = useSession()
  const { pathname, href } = useLocation()
  /** The tabs of a screen, and the pages of its objects, belong to it. */
  const isActive = (to: string) => pathname.replace(/^\/console/, '').startsWith(to.replace(/\/video$/, ''))
  const [isJumping, setJumping] = useState(false)
  // Where the menu of phones was opened, so that it is closed on every other screen.
  const [menuAt, setMenuAt] = useState<string | null>(null)
  const isMenuOpen = menuAt === href
  useEffect(() => startFeed(session), [session])
  useShortcuts(session, () => setJumping(true))
  return (
    <div className={styles['shell']}>
      <a href="#content" className={styles['skip']}>
        {texts.skip}
      </a>
      <div id="menu" className={styles['side']} data-open={isMenuOpen || undefined}>
        <div className={styles['brand']}>
          <Brand />
          Kinora
        </div>
        <button type="button" className={styles['jump']} onClick={() => setJumping(true)}>
          <Search aria-hidden />
          {texts.jump}
          <kbd>{isApple ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <nav aria-label={texts.navigation} className={styles['nav']}>
          {navigation.map(({ group, screens }) => {
            const visible = screens.filter(({ isVisible }) => isVisible(session))
            if (visible.length === 0 && group !== 'learn') return null
            return (
              <div key={group}>
                <h2>{texts.groups[group]}</h2>
                {visible.map(({ page, to, icon: Icon }) => (
                  <Link
                    key={page}
                    to={to}
                    className={styles['item'] ?? ''}
                    data-active={isActive(to) || undefined}
                    onClick={() => setMenuAt(null)}
                  >
                    <Icon aria-hidden />
                    {texts.pages[page]}
                  </Link>
                ))}
                {group === 'learn' && (
                  <a href="/docs" target="_blank" rel="noreferrer" className={styles['item']}>
                    <BookOpen aria-hidden />
                    {texts.pages.reference}
                  </a>
                )}
              </div>
            )
          })}
        </nav>
        <Suspense fallback={<div className={styles['user']} />}>
          <UserMenu session={session} />
        </Suspense>
      </div>
      <div className={styles['main']}>
        <ConnectionBanner />
        <Outlet />
      </div>
      <nav className={styles['bottom']} aria-label={texts.navigation}>
        {visibleScreens(session)
          .filter(({ isOnPhone }) => isOnPhone)
          .map(({ page, to, icon: Icon }) => (
            <Link key={page} to={to} data-active={isActive(to) || undefined}>
              <Icon aria-hidden />
              {texts.pages[page]}
            </Link>
          ))}
        <button
          type="button"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuAt(isMenuOpen ? null : href)}
        >
          <Ellipsis aria-hidden />
          {texts.more}
        </button>
      </nav>
      {isJumping && (
        <Suspense>
          <JumpPalette session={session} onClose={() => setJumping(false)} />
        </Suspense>
      )}
      <Toasts />
    </div>
  )
}
