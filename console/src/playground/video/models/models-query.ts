import { queryOptions } from '@tanstack/react-query'

import { kinora } from '../../../service.ts'

/** All models, with their aliases. */
export const modelsQuery = queryOptions({
  queryKey: ['models', 'of-videos'],
  queryFn: async () => (await kinora.models.list()).data,
  staleTime: 60_000,
})

const storageKey = 'kinora-video-models'
const lastUsedMax = 3

export const readLastUsed = (): string[] => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}

/** A model that was used stays where it is; another one takes the first place. */
export const rememberUse = (id: string): void => {
  const used = readLastUsed()
  if (!used.includes(id))
    localStorage.setItem(storageKey, JSON.stringify([id, ...used].slice(0, lastUsedMax)))
}
