import { isKinoraError } from '@kinora/client'
import { QueryClient } from '@tanstack/react-query'

/** The service answered, so another try would get the same. */
const isFinal = (error: unknown) => isKinoraError(error) && error.status !== undefined && error.status < 500

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && !isFinal(error),
      // The connection of the event feed tells better than the browser whether the service can be reached.
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})
