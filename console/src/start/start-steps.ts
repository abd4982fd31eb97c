/** How far a new installation is. Everything is read from the service. */
import { useQuery } from '@tanstack/react-query'

import { kinora, kinoraAdmin } from '../service.ts'
import { hasRole, hasScope, useSession } from '../session/session.ts'

export type Step = 'start' | 'first' | 'own' | 'vendor' | 'key' | 'webhook'

/** `kinora dev` marks the video that it makes, so that it does not count as one's own. */
export const sampleMark = { sample: 'first-run' }

/** Keys that were created with the account are not one's own. */
const setupSeconds = 60

const readSteps = async (mayRead: boolean, mayManage: boolean, mayOperate: boolean) => {
  const [videos, keys, deliveries, providers] = await Promise.all([
    mayRead ? kinora.videos.list({ limit: 50, status: 'completed' }) : undefined,
    mayManage ? kinora.keys.list({ limit: 100 }) : undefined,
    mayManage ? kinora.webhooks.deliveries.list({ limit: 50 }) : undefined,
    mayOperate ? kinoraAdmin.providers.list() : undefined,
  ])
  const created = keys?.data.map((key) => key.created_at) ?? []
  const steps: [Step, boolean | undefined][] = [
    ['start', true],
    ['first', videos && videos.data.length > 0],
    ['own', videos?.data.some(({ metadata }) => metadata['sample'] !== sampleMark.sample)],
    ['vendor', providers?.data.some(({ kind }) => kind !== 'local')],
    ['key', keys && created.some((at) => at > Math.min(...created) + setupSeconds)],
    ['webhook', deliveries?.data.some(({ state }) => state === 'delivered')],
  ]
  return steps.flatMap(([step, isDone]) => (isDone === undefined ? [] : [{ step, isDone }]))
}

/** The steps that this session may take. */
export const useSteps = () => {
  const session = useSession()
  return useQuery({
    queryKey: ['start-steps'],
    queryFn: () =>
      readSteps(
        hasScope(session, 'read'),
        hasScope(session, 'account') && hasScope(session, 'read'),
        hasRole(session, 'read'),
      ),
    refetchInterval: 15_000,
  })
}
