/**
 * One stream of events for the whole console: what changes, and whether the service can be reached. The client resumes
 * a lost stream after the last event. What a customer's key may not follow is polled by the screens.
 */
import type { Event } from '@kinora/client'
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'

import { queryClient } from '../queries.ts'
import { kinora, kinoraAdmin } from '../service.ts'
import { hasRole, hasScope, type Session } from '../session/session.ts'

type FeedState = 'connecting' | 'live' | 'lost'

interface Connection {
  state: FeedState
  /** When the connection was lost, in milliseconds. */
  lostAt: number | undefined
  /** When it was established again, in milliseconds. */
  backAt: number | undefined
}

let connection: Connection = { state: 'connecting', lostAt: undefined, backAt: undefined }
const watchers = new Set<() => void>()
const listeners = new Set<(event: Event) => void>()
/** What ends the pauses before the next tries. */
const pauses = new Set<() => void>()

const setState = (state: FeedState) => {
  if (connection.state === state) return
  const wasLost = connection.state === 'lost'
  connection = {
    state,
    lostAt: state === 'lost' ? Date.now() : undefined,
    backAt: state === 'live' && wasLost ? Date.now() : undefined,
  }
  // What happened meanwhile is read anew.
  if (state === 'live' && wasLost) void queryClient.invalidateQueries()
  for (const watcher of watchers) watcher()
}

/**
 * How often the service is asked whether it is there, unless an event has just told it. The stream itself is silent for up to
 * 15 seconds.
 */
const checkMs = 5_000
let lastEventAt = 0

const checkConnection = async (signal: AbortSignal) => {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(checkMs)])
  try {
    const response = await fetch('/livez', { signal: limit, cache: 'no-store' })
    await response.arrayBuffer()
    setState(response.ok ? 'live' : 'lost')
  } catch {
    if (!signal.aborted) setState('lost')
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      pauses.delete(end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    pauses.add(end)
    signal.addEventListener('abort', end)
  })

const follow = async (session: Session, signal: AbortSignal) => {
  const stream = hasScope(session, 'read')
    ? kinora.events.list({ stream: true }, { signal })
    : kinoraAdmin.events.list({ stream: true }, { signal })
  for await (const event of stream) {
    lastEventAt = Date.now()
    for (const listener of listeners) listener(event)
  }
}

/** Follows the events until the returned function is called. */
export const startFeed = (session: Session): (() => void) => {
  const stopping = new AbortController()
  const { signal } = stopping
  const mayFollow = hasScope(session, 'read') || hasRole(session, 'read', 'support', 'finance')
  const followForever = async () => {
    while (!signal.aborted && mayFollow) {
      try {
        await follow(session, signal)
      } catch {
        if (signal.aborted) return
        // The session may have ended.
        void queryClient.invalidateQueries({ queryKey: ['session'] })
      }
      await pause(2_000, signal)
    }
  }
  const checkForever = async () => {
    while (!signal.aborted) {
      const isKnown = connection.state === 'live' && Date.now() - lastEventAt < checkMs
      if (document.visibilityState === 'visible' && !isKnown) await checkConnection(signal)
      await pause(checkMs, signal)
    }
  }
  void followForever()
  void checkForever()
  return () => stopping.abort()
}

/** Tries to connect at once instead of after the pause. */
export const reconnect = (): void => {
  for (const end of pauses) end()
}

export const useConnection = (): Connection =>
  useSyncExternalStore(
    (onChange) => {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    () => connection,
  )

/** Calls the listener for each event while the component is shown. */
export const useFeed = (onEvent: (event: Event) => void): void => {
  const listener = useEffectEvent(onEvent)
  useEffect(() => {
    const listen = (event: Event) => listener(event)
    listeners.add(listen)
    return () => {
      listeners.delete(listen)
    }
  }, [])
}
