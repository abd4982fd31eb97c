/** What is known about one task: as its customer sees it, as operators see it, or both. */
import { isKinoraError } from '@kinora/client'
import { queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query'

import { useFeed } from '../../live/feed.ts'
import { queryClient } from '../../queries.ts'
import { kinora, kinoraAdmin } from '../../service.ts'
import { hasRole, hasScope, useSession, type Session } from '../../session/session.ts'

const readOwn = async (id: string) => {
  const [video, timeline] = await Promise.all([kinora.videos.get(id), kinora.videos.timeline(id)])
  return { video, timeline }
}

const readAny = async (id: string) => {
  const [task, timeline] = await Promise.all([kinoraAdmin.tasks.get(id), kinoraAdmin.tasks.timeline(id)])
  return { task, timeline }
}

type OwnTask = Awaited<ReturnType<typeof readOwn>>
export type AnyTask = Awaited<ReturnType<typeof readAny>>
type TaskOrder = Awaited<ReturnType<typeof kinoraAdmin.tasks.order>>
export type Step = OwnTask['timeline']['steps'][number]
type AdminStep = AnyTask['timeline']['steps'][number]
type FailureExplanation = NonNullable<OwnTask['timeline']['explanation']>
type Lineage = OwnTask['timeline']['lineage']

const orNull = async <Value>(reading: Promise<Value>): Promise<Value | null> => {
  try {
    return await reading
  } catch (error) {
    if (isKinoraError(error) && error.status === 404) return null
    throw error
  }
}

/** Everything about a task begins with this, so that one change reads all of it anew. */
export const taskKey = (id: string) => ['task', id] as const

export const refreshTask = (id: string): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: taskKey(id) })

export const isOperator = (session: Session) => hasRole(session, 'read', 'support', 'finance')

const ownQuery = (id: string) =>
  queryOptions({ queryKey: [...taskKey(id), 'own'], queryFn: () => orNull(readOwn(id)) })

const anyQuery = (id: string) =>
  queryOptions({ queryKey: [...taskKey(id), 'any'], queryFn: () => orNull(readAny(id)) })

/** What the customer sent. The service records each read, so it is read when an operator asks for it. */
export const orderQuery = (id: string) =>
  queryOptions({
    queryKey: ['task-order', id],
    queryFn: () => kinoraAdmin.tasks.order(id),
    staleTime: Infinity,
    enabled: false,
  })

export const explanationQuery = (id: string) =>
  queryOptions({
    queryKey: [...taskKey(id), 'explanation'],
    queryFn: () => kinoraAdmin.tasks.explain(id),
  })

export interface TaskView {
  id: string
  kind: 'video' | 'transcription'
  status: 'pending' | 'processing' | 'completed' | 'failed' | 'cancelled'
  isFinal: boolean
  progress: number
  model: string
  /** Null for operators until they read the order. */
  prompt: string | null
  seconds: number | null
  size: string | null
  createdAt: number
  finishedAt: number | null
  expiresAt: number | null
  keyId: string
  keyName: string | null
  account: { id: string; name: string } | null
  error: { code: string; message: string } | null
  holdMicros: number
  capturedMicros: number | null
  currency: string
  variants: string[]
  remixOf: string | null
  steps: (Step & Partial<AdminStep>)[]
  explanation: FailureExplanation | null
  lineage: Lineage
  own: OwnTask | null
  any: AnyTask | null
}

const statusNames: Record<string, TaskView['status']> = {
  queued: 'pending',
  in_progress: 'processing',
  processing: 'processing',
  completed: 'completed',
  failed: 'failed',
}

const nameStatus = (status: string, errorCode: string | undefined): TaskView['status'] =>
  errorCode === 'task_cancelled' ? 'cancelled' : (statusNames[status] ?? 'pending')

const viewOwn = ({ video, timeline }: OwnTask): Omit<TaskView, 'own' | 'any' | 'keyName' | 'account'> => {
  const { details } = timeline
  const status = nameStatus(video.status, video.error?.code)
  return {
    id: video.id,
    kind: 'video',
    status,
    isFinal: status !== 'pending' && status !== 'processing',
    progress: video.progress,
    model: video.model,
    prompt: details.prompt,
    seconds: video.seconds,
    size: video.size,
    createdAt: video.created_at,
    finishedAt: timeline.finished_at,
    expiresAt: details.expires_at,
    keyId: details.key_id,
    error: video.error ?? null,
    holdMicros: details.hold_micros,
    capturedMicros: details.captured_micros,
    currency: details.currency,
    variants: details.variants,
    remixOf: video.remixed_from_video_id,
    steps: timeline.steps,
    explanation: timeline.explanation,
    lineage: timeline.lineage,
  }
}

const viewAny = (
  { task, timeline }: AnyTask,
  order: TaskOrder | undefined,
): Omit<TaskView, 'own' | 'any' | 'keyName' | 'account'> => {
  const status = nameStatus(task.status, task.error?.code)
  const sent = (order?.order ?? {}) as { seconds?: number; size?: string }
  const seconds = task.prices.find(({ unit }) => unit === 'second')?.quantity
  return {
    id: task.id,
    kind: task.kind,
    status,
    isFinal: status !== 'pending' && status !== 'processing',
    progress: task.progress,
    model: task.model,
    prompt: order?.prompt ?? null,
    seconds: sent.seconds ?? (seconds === undefined ? null : Number(seconds)),
    size: sent.size ?? null,
    createdAt: task.created_at,
    finishedAt: task.finished_at,
    expiresAt: null,
    keyId: task.key_id,
    error: task.error,
    holdMicros: task.hold_micros,
    capturedMicros: task.captured_micros,
    currency: task.currency,
    variants: task.status === 'completed' && task.kind === 'video' ? ['video', 'thumbnail'] : [],
    remixOf: timeline.lineage.source?.id ?? null,
    steps: timeline.steps,
    explanation: timeline.explanation,
    lineage: timeline.lineage,
  }
}

/** What operators know is added to what the customer sees. */
const mergeViews = (
  own: OwnTask | null,
  any: AnyTask | null,
  order: TaskOrder | undefined,
): TaskView | null => {
  const base = own === null ? any && viewAny(any, order) : viewOwn(own)
  if (base === null) return null
  return {
    ...base,
    steps: any?.timeline.steps ?? base.steps,
    keyName: any?.task.key_name ?? null,
    account: any === null ? null : { id: any.task.account_id, name: any.task.account_name },
    own,
    any,
  }
}

/** How often a task is read that has not ended. Its events come earlier. */
const runningMs = 2_500
/** A delivery is retried after the task has ended. */
const deliveringMs = 10_000

const isOpen = (steps: { ended_at: number | null }[]) => steps.some(({ ended_at }) => ended_at === null)

const intervalOf = (status: string | undefined, steps: { ended_at: number | null }[] | undefined) => {
  if (status === undefined) return false
  if (!['completed', 'failed'].includes(status)) return runningMs
  return isOpen(steps ?? []) ? deliveringMs : false
}

export interface TaskState {
  /** Undefined while it loads, null if there is none. */
  view: TaskView | null | undefined
  error: unknown
  retry: () => void
}

export const useTask = (id: string): TaskState => {
  const session = useSession()
  const own = useQuery({
    ...ownQuery(id),
    enabled: hasScope(session, 'read'),
    refetchInterval: ({ state: { data } }) => intervalOf(data?.video.status, data?.timeline.steps),
  })
  const any = useQuery({
    ...anyQuery(id),
    enabled: isOperator(session),
    refetchInterval: ({ state: { data } }) => intervalOf(data?.task.status, data?.timeline.steps),
  })
  const { data: order } = useQuery(orderQuery(id))
  useFeed((event) => {
    const { id: changed } = event.data as { id?: string }
    if (changed === id) void refreshTask(id)
  })
  const used: UseQueryResult[] = [
    ...(hasScope(session, 'read') ? [own] : []),
    ...(isOperator(session) ? [any] : []),
  ]
  const isLoading = used.some(({ data, error }) => data === undefined && error === null)
  const view = mergeViews(own.data ?? null, any.data ?? null, order)
  const failed = used.find(({ error }) => error !== null)
  return {
    view: isLoading ? undefined : view,
    error: view === null ? (failed?.error ?? null) : null,
    retry: () => void refreshTask(id),
  }
}

/** The address of a file of the task. Operators' reads are recorded. */
export const contentUrl = (id: string, variant: string, isOwn: boolean): string =>
  `${isOwn ? '/v1/videos' : '/admin/v1/tasks'}/${encodeURIComponent(id)}/content?variant=${variant}`
