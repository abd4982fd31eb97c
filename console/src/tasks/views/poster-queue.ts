/**
 * Images of videos are made on the first request, and the service makes only a few at a time for an account. A poster
 * therefore waits for one of a few places, and tries again when its image was refused.
 */
import { useCallback, useEffect, useState } from 'react'

const placesMax = 4
const triesMax = 4
const pauseMs = 1_500
/** A poster that only scrolls by is not loaded, so that the list does not use up the requests that its pages need. */
const settleMs = 150
/** Faster than this share of the screen in that time. */
const fastShare = 0.25

let used = 0
const waiting: (() => void)[] = []
/** Images that were shown once come from the cache of the browser and need no place. */
const shown = new Set<string>()
const missing = new Set<string>()

const startNext = () => {
  while (used < placesMax && waiting.length > 0) {
    used += 1
    waiting.shift()?.()
  }
}

/** Calls `start` when there is a place; the returned function gives the place back, or leaves the queue. */
const enqueue = (start: () => void): (() => void) => {
  let hasPlace = false
  const take = () => {
    hasPlace = true
    start()
  }
  waiting.push(take)
  startNext()
  return () => {
    const index = waiting.indexOf(take)
    if (index !== -1) waiting.splice(index, 1)
    if (hasPlace) {
      hasPlace = false
      used -= 1
      startNext()
    }
  }
}

interface QueuedImage {
  /** The URL once the image may be loaded. */
  src: string | undefined
  isMissing: boolean
  onLoad: () => void
  onError: () => void
}

/** A paused image waits for the connection. */
export const useQueuedImage = (url: string | undefined, isPaused: boolean): QueuedImage => {
  const [state, setState] = useState({ url, tries: 0, isStarted: false, isDone: false })
  const current = state.url === url ? state : { url, tries: 0, isStarted: false, isDone: false }
  const isKnown = url !== undefined && shown.has(url)
  const isMissing = url !== undefined && missing.has(url)
  const { tries, isDone } = current
  useEffect(() => {
    if (url === undefined || isKnown || isMissing || isDone || isPaused) return undefined
    let leave = () => {}
    let from = scrollY
    const start = () => {
      if (Math.abs(scrollY - from) > innerHeight * fastShare) {
        from = scrollY
        timer = setTimeout(start, settleMs)
        return
      }
      leave = enqueue(() => setState({ url, tries, isStarted: true, isDone: false }))
    }
    let timer = setTimeout(start, tries === 0 ? settleMs : pauseMs * 2 ** (tries - 1))
    return () => {
      clearTimeout(timer)
      leave()
    }
  }, [url, tries, isKnown, isMissing, isDone, isPaused])
  const onLoad = useCallback(() => {
    if (url === undefined) return
    shown.add(url)
    setState({ url, tries: 0, isStarted: true, isDone: true })
  }, [url])
  const onError = useCallback(() => {
    if (url === undefined) return
    if (tries + 1 >= triesMax) missing.add(url)
    setState({ url, tries: tries + 1, isStarted: false, isDone: false })
  }, [url, tries])
  return { src: isKnown || current.isStarted ? url : undefined, isMissing, onLoad, onError }
}
