/** The videos that this tab has asked for. Only their ids are kept; their state is the service's. */
import { isKinoraError, type ListVideosItem } from '@kinora/client'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

import { useFeed } from '../../../live/feed.ts'
import { queryClient } from '../../../queries.ts'
import { kinora } from '../../../service.ts'

export type Run = ListVideosItem

const storageKey = 'kinora-playground-videos'
const idsMax = 12

const readIds = (): string[] => {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}

let ids = readIds()
const watchers = new Set<() => void>()

const setIds = (next: string[]) => {
  ids = next.slice(0, idsMax)
  sessionStorage.setItem(storageKey, JSON.stringify(ids))
  for (const watcher of watchers) watcher()
}

export const addRun = (id: string): void => setIds([id, ...ids.filter((other) => other !== id)])
export const removeRun = (id: string): void => setIds(ids.filter((other) => other !== id))

const useIds = () =>
  useSyncExternalStore(
    (onChange) => {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    () => ids,
  )

export const isActive = ({ status }: { status: string }): boolean =>
  status !== 'completed' && status !== 'failed'

/** How many of the newest videos one request reads. Older ones are read one by one. */
const listedMax = 50

const readRuns = async (wanted: string[]): Promise<Run[]> => {
  const listed = new Map<string, Run>()
  if (wanted.length > 0)
    for (const run of (await kinora.videos.list({ include: 'details', limit: listedMax })).data)
      listed.set(run.id, run)
  const found = await Promise.all(
    wanted.map(async (id) => {
      const known = listed.get(id)
      if (known !== undefined) return known
      try {
        return await kinora.videos.get(id)
      } catch (error) {
        // It was deleted, or belongs to an account that was signed in before.
        if (isKinoraError(error) && error.status === 404) return undefined
        throw error
      }
    }),
  )
  return found.filter((run) => run !== undefined)
}

const refreshMs = 2_000

/** The runs of this tab, newest first. */
export const useRuns = () => {
  const wanted = useIds()
  useFeed(({ type, data }) => {
    if (type.startsWith('video.') && ids.includes(String(data['id'])))
      void queryClient.invalidateQueries({ queryKey: ['playground-runs'] })
  })
  return useQuery({
    queryKey: ['playground-runs', wanted],
    queryFn: () => readRuns(wanted),
    placeholderData: (previous) => previous,
    // Events tell the status and the progress; the place in the queue and the time left change without one.
    refetchInterval: ({ state }) => (state.data?.some(isActive) ? refreshMs : false),
  })
}

/** The steps of a task, and why it failed. */
export const timelineQuery = (id: string, status: string) =>
  queryOptions({
    queryKey: ['timeline', id, status],
    queryFn: () => kinora.videos.timeline(id),
    retry: false,
  })

export const contentUrl = (id: string, variant?: 'thumbnail' | 'spritesheet'): string =>
  `/v1/videos/${encodeURIComponent(id).replaceAll('%3A', ':')}/content${variant === undefined ? '' : `?variant=${variant}`}`

/** Width and height of a video, whose size may be a name such as `16x9`. */
export const readSize = (size: string): { width: number; height: number } => {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size) ?? []
  const read = { width: Number(width ?? 16), height: Number(height ?? 9) }
  return read.width < 64 ? { width: 1280, height: Math.round((1280 * read.height) / read.width) } : read
}
