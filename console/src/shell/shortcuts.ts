/** Keys for the whole console: `⌘K` jumps, `g` and a letter opens a screen, `t` changes the theme. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useRef } from 'react'

import type { Session } from '../session/session.ts'
import { visibleScreens } from './navigation.ts'
import { toggleTheme } from './theme.ts'

const isTyping = ({ target }: KeyboardEvent) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName))

/** How long `g` waits for its letter. */
const prefixMs = 1_500

export const useShortcuts = (session: Session, onJump: () => void): void => {
  const navigate = useNavigate()
  const prefixedAt = useRef(0)
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault()
      onJump()
      return
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event) || event.defaultPrevented) return
    if (event.key === 'g') {
      prefixedAt.current = event.timeStamp
      return
    }
    const isPrefixed = event.timeStamp - prefixedAt.current < prefixMs && prefixedAt.current > 0
    prefixedAt.current = 0
    if (isPrefixed) {
      const screen = visibleScreens(session).find(({ shortcut }) => shortcut === event.key)
      if (screen !== undefined) void navigate({ to: screen.to })
    } else if (event.key === 't') toggleTheme()
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}
