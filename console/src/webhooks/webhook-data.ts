/** Endpoints of the account, and what was sent to them. */
import type { WebhookDelivery, WebhookDeliveryWithAttempts, WebhookEndpoint } from '@kinora/client'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'

import { kinora } from '../service.ts'

export type { WebhookDelivery, WebhookDeliveryWithAttempts, WebhookEndpoint }
export type EventName = WebhookEndpoint['events'][number]

export const webhooksKey = ['webhooks'] as const

/** Endpoints and deliveries change without an event. */
const refetchMs = 10_000
/** While an attempt is expected. */
const pendingMs = 1_500

/** An account has at most 20. */
export const endpointsQuery = queryOptions({
  queryKey: [...webhooksKey, 'endpoints'],
  queryFn: async () => (await kinora.webhooks.list({ limit: 100 })).data,
  refetchInterval: refetchMs,
})

export const endpointQuery = (id: string) =>
  queryOptions({
    queryKey: [...webhooksKey, 'endpoint', id],
    queryFn: () => kinora.webhooks.get(id),
    refetchInterval: refetchMs,
  })

export const eventTypesQuery = queryOptions({
  queryKey: [...webhooksKey, 'event-types'],
  queryFn: async () => (await kinora.webhooks.eventTypes()).data,
  staleTime: 600_000,
})

export const deliveryStates = ['pending', 'delivered', 'failed', 'replaced'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export const isDeliveryState = (text: string | undefined): text is DeliveryState =>
  deliveryStates.includes(text as DeliveryState)

export const deliveriesQuery = (endpointId: string | undefined, state: DeliveryState | undefined) =>
  infiniteQueryOptions({
    queryKey: [...webhooksKey, 'deliveries', endpointId, state],
    queryFn: ({ pageParam }) =>
      kinora.webhooks.deliveries.list({
        limit: 50,
        ...(endpointId !== undefined && { endpoint_id: endpointId }),
        ...(state !== undefined && { state }),
        ...(pageParam !== undefined && { cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages[0]?.data.some((delivery) => delivery.state === 'pending') === true ? pendingMs : refetchMs,
  })

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: [...webhooksKey, 'delivery', id],
    queryFn: () => kinora.webhooks.deliveries.get(id),
    refetchInterval: ({ state: { data } }) => (data?.state === 'pending' ? pendingMs : refetchMs),
  })

export const isUrl = (text: string): boolean => {
  try {
    return ['https:', 'http:'].includes(new URL(text).protocol)
  } catch {
    return false
  }
}
