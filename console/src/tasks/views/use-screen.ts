/** What the layout of the list depends on: the width of the screen, and the time. */
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore, type RefObject } from 'react'

/** Below this width, rows are cards. */
const compact = matchMedia('(max-width: 1180px)')

export const useIsCompact = (): boolean =>
  useSyncExternalStore(
    (onChange) => {
      compact.addEventListener('change', onChange)
      return () => compact.removeEventListener('change', onChange)
    },
    () => compact.matches,
  )

/** The time in milliseconds, for ages. */
export const useNow = (everyMs: number): number => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

interface Place {
  ref: RefObject<HTMLDivElement | null>
  width: number
  /** Distance to the top of the document. */
  top: number
}

/** Where an element is in the document. */
export const usePlace = (): Place => {
  const ref = useRef<HTMLDivElement>(null)
  const [place, setPlace] = useState({ width: 0, top: 0 })
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = () => {
      const { width, top } = element.getBoundingClientRect()
      const measured = { width: Math.floor(width), top: Math.round(top + scrollY) }
      setPlace((before) =>
        before.width === measured.width && before.top === measured.top ? before : measured,
      )
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [])
  return { ref, ...place }
}
