/** What was sent to webhook endpoints about the task, and what they answered. */
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'

import { useReasons } from '../../errors/use-reasons.ts'
import { useTexts } from '../../i18n/texts.ts'
import { kinora } from '../../service.ts'
import { hasScope, useSession } from '../../session/session.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Tag } from '../../ui/status.tsx'
import { showToast } from '../../ui/toast.tsx'
import { Time } from '../../ui/values.tsx'
import { refreshTask, taskKey, type Step, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './deliveries-card.module.css'

interface Delivery {
  id: string
  type: string
  attempts: number
  last: Step
}

/** The steps have one row for each attempt, and one for a wait. */
const collectDeliveries = (steps: Step[]): Delivery[] => {
  const found = new Map<string, Delivery>()
  for (const step of steps) {
    const { kind, delivery_id: id, event_type: type, attempt, ended_at: endedAt } = step
    if (kind !== 'webhook' || id === undefined || type === undefined) continue
    const isWait = endedAt === null
    found.set(id, { id, type, attempts: (attempt ?? 1) - (isWait ? 1 : 0), last: step })
  }
  return [...found.values()]
}

const urlsQuery = (id: string) =>
  queryOptions({
    queryKey: [...taskKey(id), 'deliveries'],
    queryFn: async () => {
      const { data } = await kinora.webhooks.deliveries.list({ object_id: id, limit: 200 })
      return new Map(data.map((delivery) => [delivery.id, delivery.url]))
    },
  })

export const DeliveriesCard = ({ view }: { view: TaskView }) => {
  const { deliveries: texts } = useTexts(taskTexts)
  const reasons = useReasons()
  const session = useSession()
  const deliveries = collectDeliveries(view.steps)
  const mayManage = view.own !== null && hasScope(session, 'account')
  const { data: urls } = useQuery({
    ...urlsQuery(view.id),
    enabled: mayManage && deliveries.length > 0,
  })
  const redeliver = useMutation({
    mutationFn: async (delivery: string) => {
      await kinora.webhooks.deliveries.redeliver(delivery)
      await refreshTask(view.id)
    },
    onSuccess: () => showToast(texts.redelivered),
    onError: (error) => showToast(reasons.ofError(error).message),
  })
  if (deliveries.length === 0) return null
  return (
    <Card
      isFlush
      title={texts.title}
      actions={
        mayManage && (
          <LinkButton to="/webhooks" variant="ghost" size="small">
            {texts.all}
          </LinkButton>
        )
      }
    >
      <ul>
        {deliveries.map(({ id, type, attempts, last }) => {
          const isDelivered = last.outcome === 'delivered'
          return (
            <li key={id} className={styles['delivery']}>
              <div className="grow">
                <p className="row wrap">
                  <span className="medium">{type}</span>
                  <Tag color={isDelivered ? 'green' : last.ended_at === null ? 'amber' : 'red'}>
                    {last.ended_at === null ? texts.waiting : (last.status ?? texts.noResponse)}
                  </Tag>
                </p>
                <p className={`${styles['url']} muted small-text`}>
                  {urls?.get(id) !== undefined && urls.get(id) !== null && <span>{urls.get(id)} · </span>}
                  <Time at={last.ended_at ?? last.started_at} /> · {texts.attempts(attempts)}
                </p>
                {!isDelivered && last.detail !== null && <p className="soft small-text">{last.detail}</p>}
              </div>
              {mayManage && (
                <Button
                  size="small"
                  icon={<RotateCw />}
                  label={texts.named(type)}
                  isBusy={redeliver.isPending && redeliver.variables === id}
                  onPress={() => redeliver.mutate(id)}
                >
                  {texts.redeliver}
                </Button>
              )}
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
