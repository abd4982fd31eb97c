/**
 * The rows of the list. What is read once stays where it is: known tasks change in place, and new ones wait until they
 * are asked for. Therefore the pages are never read again; a small query of the newest tasks finds what is new.
 */
import {
  useInfiniteQuery,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type QueryKey,
} from '@tanstack/react-query'
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'

import { useConnection, useFeed } from '../../live/feed.ts'
import type { TaskSearch } from '../filters.ts'
import {
  headSize,
  patchRow,
  readPage,
  readPauseSeconds,
  readRow,
  type Scope,
  type TaskPage,
} from './read-tasks.ts'
import { isRunning, type TaskRow } from './task-row.ts'

type Pages = InfiniteData<TaskPage, string | null>

/** No event says that a task waits for a provider, so the newest tasks are read this often. */
const headMs = 10_000
/** How long events are collected before the newest tasks are read. */
const eventPauseMs = 800
/** While events keep coming, the newest tasks are read this often. */
const busyMs = 5_000
/** At most so many running tasks beyond the newest ones are read again at a time. */
const rereadMax = 20

const isSame = (one: TaskRow, other: TaskRow) => JSON.stringify(one) === JSON.stringify(other)

/** Replaces rows of known tasks. Pages and rows without a change keep their identity. */
const updatePages = (
  data: Pages | undefined,
  change: (row: TaskRow) => TaskRow | null,
): Pages | undefined => {
  if (data === undefined) return undefined
  let hasChange = false
  const pages = data.pages.map((page) => {
    const rows = page.rows.flatMap((row) => change(row) ?? [])
    if (rows.length === page.rows.length && rows.every((row, index) => row === page.rows[index])) return page
    hasChange = true
    return { ...page, rows }
  })
  return hasChange ? { ...data, pages } : data
}

const findFresh = (head: TaskRow[], known: Map<string, TaskRow>, newestAt: number) =>
  head.filter((row) => !known.has(row.id) && row.createdAt >= newestAt)

export interface TaskRows {
  rows: TaskRow[]
  /** Tasks that were created since the list was read. */
  fresh: TaskRow[]
  /** Whether there may be more new tasks than `fresh` has. */
  hasGap: boolean
  isLoading: boolean
  error: Error | null
  hasMore: boolean
  isLoadingMore: boolean
  /** How long the service asked to wait before the next page, in seconds. */
  pauseSeconds: number | undefined
  loadMore: () => void
  showFresh: () => void
  retry: () => void
  remove: (ids: Set<string>) => void
  refresh: () => void
}

export const useTaskRows = (scope: Scope, search: TaskSearch): TaskRows => {
  const client = useQueryClient()
  const { isOperatorView } = scope
  const { state, backAt } = useConnection()
  const { view: _view, all: _all, ...filters } = search
  const key: QueryKey = ['tasks', isOperatorView, filters]
  const keyText = JSON.stringify(key)
  const headKey: QueryKey = ['tasks-head', isOperatorView, filters]
  const pages = useInfiniteQuery<TaskPage, Error, Pages, QueryKey, string | null>({
    queryKey: key,
    queryFn: ({ pageParam }) => readPage(scope, search, pageParam),
    initialPageParam: null,
    getNextPageParam: (page) => page.next,
    staleTime: 'static',
  })
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.rows) ?? [], [pages.data])
  const known = useMemo(() => new Map(rows.map((row) => [row.id, row])), [rows])
  // One page is less work than a request for each.
  const hasOldRunning = useMemo(() => rows.slice(headSize).some(isRunning), [rows])
  const head = useQuery({
    queryKey: headKey,
    queryFn: () => readPage(scope, search, null, hasOldRunning ? undefined : headSize),
    enabled: pages.data !== undefined,
    refetchInterval: state === 'lost' ? false : headMs,
    staleTime: headMs,
  })

  const change = useCallback(
    (update: (row: TaskRow) => TaskRow | null) => {
      client.setQueryData<Pages>(JSON.parse(keyText) as QueryKey, (data) => updatePages(data, update))
    },
    [client, keyText],
  )

  // Running tasks that are not among the newest are read one by one, at the rhythm of the newest.
  const newest = head.data?.rows
  useEffect(() => {
    if (newest === undefined) return
    const byId = new Map(newest.map((row) => [row.id, row]))
    change((row) => {
      const read = byId.get(row.id)
      return read === undefined || isSame(read, row) ? row : read
    })
  }, [newest, change])
  const rereadAt = head.dataUpdatedAt
  const isReading = useRef(false)
  /** Tasks that ended by an event, which does not have their price and files. */
  const ended = useRef(new Set<string>())
  const reread = useEffectEvent(async () => {
    const inHead = new Set(newest?.map(({ id }) => id))
    const stale = rows
      .filter((row) => !inHead.has(row.id) && (isRunning(row) || ended.current.has(row.id)))
      .slice(0, rereadMax)
    if (stale.length === 0 || isReading.current) return
    isReading.current = true
    const read = await Promise.allSettled(stale.map((row) => readRow(scope, row)))
    const byId = new Map(
      read.flatMap((result) =>
        result.status === 'fulfilled' ? [[result.value.id, result.value] as const] : [],
      ),
    )
    change((row) => byId.get(row.id) ?? row)
    for (const row of byId.values()) if (!isRunning(row)) ended.current.delete(row.id)
    isReading.current = false
  })
  useEffect(() => {
    if (rereadAt > 0) void reread()
  }, [rereadAt])

  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const refreshIn = useCallback(
    (ms: number) => {
      clearTimeout(timer.current)
      timer.current = setTimeout(() => {
        timer.current = undefined
        void client.invalidateQueries({ queryKey: ['tasks-head'] })
      }, ms)
    },
    [client],
  )
  const refresh = useCallback(() => refreshIn(eventPauseMs), [refreshIn])
  useFeed(({ type, data, created_at: at }) => {
    if (!type.startsWith('video.') && !type.startsWith('transcription_task.')) return
    const { id } = data as { id?: string }
    if (id !== undefined && known.has(id)) {
      change((row) => (row.id === id ? patchRow(row, data, at) : row))
      if (/\.(completed|failed)$/.test(type)) ended.current.add(id)
    }
    if (type === 'video.progress' || timer.current !== undefined) return
    refreshIn(Math.max(eventPauseMs, head.dataUpdatedAt + busyMs - Date.now()))
  })

  // A changed row clears the error of the query, so the pause has its own state.
  const [pause, setPause] = useState<{ keyText: string; seconds: number }>()
  const pauseSeconds = pause?.keyText === keyText ? pause.seconds : undefined
  const { fetchNextPage } = pages
  const readNext = async () => {
    const { error } = await fetchNextPage()
    const seconds = error === null ? undefined : readPauseSeconds(error)
    setPause(seconds === undefined ? undefined : { keyText, seconds })
  }
  const loadMore = () => {
    if (pages.hasNextPage && !pages.isFetching && pauseSeconds === undefined) void readNext()
  }
  const endPause = useEffectEvent(() => {
    if (pauseSeconds !== undefined) void readNext()
  })
  useEffect(() => {
    if (pause === undefined) return undefined
    const continuing = setTimeout(() => endPause(), pause.seconds * 1_000)
    return () => clearTimeout(continuing)
  }, [pause])

  // After a lost connection, also what ended meanwhile is read, by the query of the newest tasks.
  const catchUp = useEffectEvent(() => {
    refresh()
    if (pages.isFetchNextPageError) void fetchNextPage()
  })
  useEffect(() => {
    if (backAt !== undefined) catchUp()
  }, [backAt])

  const newestAt = rows[0]?.createdAt ?? 0
  const fresh = useMemo(() => findFresh(newest ?? [], known, newestAt), [newest, known, newestAt])
  const hasGap =
    fresh.length > 0 && rows.length > 0 && fresh.length === newest?.length && head.data?.next !== null
  const showFresh = () => {
    if (hasGap) {
      void client.resetQueries({ queryKey: key })
      return
    }
    client.setQueryData<Pages>(key, (data) => {
      const [first, ...rest] = data?.pages ?? []
      if (data === undefined || first === undefined) return data
      return { ...data, pages: [{ ...first, rows: [...fresh, ...first.rows] }, ...rest] }
    })
  }

  // There is nothing that new rows could push away.
  const insertIntoEmpty = useEffectEvent(showFresh)
  const hasFirst = pages.data !== undefined && rows.length === 0 && fresh.length > 0
  useEffect(() => {
    if (hasFirst) insertIntoEmpty()
  }, [hasFirst])

  return {
    rows,
    fresh,
    hasGap,
    isLoading: pages.isPending,
    error: pages.error,
    hasMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    pauseSeconds,
    loadMore,
    showFresh,
    retry: () => void pages.refetch(),
    remove: (ids) => {
      change((row) => (ids.has(row.id) ? null : row))
      // Otherwise they would be new until the newest tasks are read again.
      client.setQueryData<TaskPage>(
        headKey,
        (page) => page && { ...page, rows: page.rows.filter(({ id }) => !ids.has(id)) },
      )
    },
    refresh,
  }
}
