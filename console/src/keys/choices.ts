/** What the fields of a key offer. */
import { queryOptions } from '@tanstack/react-query'

import { kinora, kinoraAdmin } from '../service.ts'

/** The first accounts by their names. */
export const accountsQuery = queryOptions({
  queryKey: ['keys', 'accounts'],
  queryFn: async () => {
    const { data } = await kinoraAdmin.accounts.list({ limit: 200 })
    return data
      .map(({ id, name }) => ({ value: id, label: name === '' ? id : name }))
      .toSorted((one, other) => one.label.localeCompare(other.label))
  },
  staleTime: 60_000,
})

/** The address that this browser has signed in from. */
export const ownAddressQuery = queryOptions({
  queryKey: ['keys', 'own-address'],
  queryFn: async (): Promise<string | null> => {
    for await (const { current, address } of kinora.console.sessions.list({ limit: 200 }))
      if (current) return address
    return null
  },
  staleTime: 600_000,
})

export const modelsQuery = (isOperator: boolean) =>
  queryOptions({
    queryKey: ['keys', 'models', isOperator],
    queryFn: async (): Promise<string[]> => {
      const { data } = isOperator ? await kinoraAdmin.models.list() : await kinora.models.list()
      return data.map(({ id }) => id)
    },
    staleTime: 60_000,
  })
