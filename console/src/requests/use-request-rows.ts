/**
 * The rows of the list. What is read stays where it is: new requests wait until they are asked for. No event tells of a
 * request, so the newest ones are read every few seconds while the page is visible.
 */
import type { LoggedRequest } from '@kinora/client/admin'
import { useInfiniteQuery, useQuery, useQueryClient, type InfiniteData } from '@tanstack/react-query'
import { useMemo } from 'react'

import { kinoraAdmin } from '../service.ts'
import { buildRequestParams, type RequestSearch } from './filters.ts'

export type { LoggedRequest }

interface RequestPage {
  rows: LoggedRequest[]
  next: string | null
}

const pageSize = 100
const headMs = 5_000

const readPage = async (search: RequestSearch, cursor: string | null): Promise<RequestPage> => {
  const { data, next } = await kinoraAdmin.requests.list({
    ...buildRequestParams(search, Date.now()),
    limit: pageSize,
    ...(cursor !== null && { cursor }),
  })
  return { rows: data, next }
}

export const useRequestRows = (search: RequestSearch) => {
  const client = useQueryClient()
  const { id: _id, view: _view, ...filters } = search
  const queryKey = ['requests', filters]
  const pages = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => readPage(filters, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 'static',
  })
  const head = useQuery({
    queryKey: ['requests-head', filters],
    queryFn: () => readPage(filters, null),
    enabled: pages.data !== undefined,
    refetchInterval: headMs,
    staleTime: headMs,
  })
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.rows) ?? [], [pages.data])
  const newest = head.data
  const fresh = useMemo(() => {
    const known = new Set(rows.map(({ id }) => id))
    const newestAt = rows[0]?.at ?? 0
    return (newest?.rows ?? []).filter(({ id, at }) => !known.has(id) && at >= newestAt)
  }, [rows, newest])
  const hasGap = fresh.length > 0 && fresh.length === newest?.rows.length && newest.next !== null
  const showFresh = () => {
    if (hasGap || rows.length === 0) {
      void client.resetQueries({ queryKey })
      return
    }
    client.setQueryData<InfiniteData<RequestPage, string | null>>(queryKey, (data) => {
      const [first, ...rest] = data?.pages ?? []
      if (data === undefined || first === undefined) return data
      return { ...data, pages: [{ ...first, rows: [...fresh, ...first.rows] }, ...rest] }
    })
  }
  return {
    ...{ rows, fresh, hasGap, showFresh },
    isLoading: pages.isPending,
    error: pages.error,
    hasMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    loadMore: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage()
    },
    retry: () => void pages.refetch(),
  }
}
