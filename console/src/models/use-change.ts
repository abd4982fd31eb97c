import { useMutation, type UseMutationResult } from '@tanstack/react-query'

import { refreshModels } from './model-data.ts'

/** Runs one change after the other, and reads the models anew after each. */
export const useChange = (): UseMutationResult<unknown, Error, () => Promise<unknown>> =>
  useMutation({ mutationFn: (change: () => Promise<unknown>) => change(), onSettled: refreshModels })
