/** What the video of the form costs, by a dry run. */
import type { Quote } from '@kinora/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { kinora } from '../../service.ts'
import { buildFields, buildRequest, findProblems, type VideoForm } from './form.ts'
import { videoPath, type Offer } from './offers.ts'

const debounceMs = 350

const useDebounced = <Value>(value: Value, ms = debounceMs): Value => {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return late
}

/** The prompt does not change the price, and may still be missing. */
const pricedPrompt = '.'

const requestQuote = async (form: VideoForm, offer: Offer, signal: AbortSignal): Promise<Quote> => {
  const request = await buildRequest(form, offer)
  return request.endpoint === videoPath
    ? kinora.videos.create({ ...request.body, dry_run: true }, { signal })
    : kinora.videoTasks.create({ ...request.body, dry_run: true }, { signal })
}

export interface QuoteOrder {
  form: VideoForm
  offer: Offer
}

const keyOf = ({ form, offer }: QuoteOrder) =>
  JSON.stringify([
    offer.endpoint,
    buildFields(
      { ...form, prompt: '' },
      offer,
      form.images.map(({ id }) => id),
    ),
  ])

/** The quotes of some orders, in their order. The old ones stay while new ones are requested. */
export const useQuotes = (orders: QuoteOrder[]) => {
  const key = useDebounced(JSON.stringify(orders.map(keyOf)))
  const priced = orders.map(({ form, offer }) => ({ form: { ...form, prompt: pricedPrompt }, offer }))
  const isPossible = priced.every(({ form, offer }) =>
    findProblems({ ...form, prompt: 'x' }, offer).every((problem) => problem === 'prompt'),
  )
  const isCurrent = key === JSON.stringify(orders.map(keyOf))
  const query = useQuery({
    queryKey: ['quotes', key],
    queryFn: ({ signal }) => Promise.all(priced.map(({ form, offer }) => requestQuote(form, offer, signal))),
    enabled: isPossible && isCurrent && orders.length > 0,
    placeholderData: (previous) => previous,
    staleTime: 60_000,
  })
  return { ...query, isOld: !isCurrent || query.isPlaceholderData }
}

/** The quote of a remix. Its price is that of the source's model, duration and size. */
export const useRemixQuote = (id: string | undefined, size: string | undefined) =>
  useQuery({
    queryKey: ['quotes', 'remix', id, size],
    queryFn: ({ signal }) =>
      kinora.videos.remix(
        id ?? '',
        { prompt: pricedPrompt, ...(size !== undefined && { size: size as '1280x720' }), dry_run: true },
        { signal },
      ),
    enabled: id !== undefined,
    placeholderData: (previous) => previous,
    staleTime: 60_000,
  })
