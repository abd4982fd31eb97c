/** `?delivery=…`: one delivery with its attempts. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/card.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { Id, Time } from '../ui/values.tsx'
import { AttemptList } from './attempt-list.tsx'
import { DeliveryState } from './delivery-list.tsx'
import { webhookTexts } from './texts.ts'
import { deliveryQuery, webhooksKey } from './webhook-data.ts'

import styles from './webhooks.module.css'

export const DeliverySheet = ({ id, onClose }: { id: string; onClose: () => void }) => {
  const { delivery: texts, columns } = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const found = useQuery(deliveryQuery(id))
  const redeliver = useMutation({
    mutationFn: () => kinora.webhooks.deliveries.redeliver(id),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: webhooksKey })
      showToast(texts.requested)
    },
  })
  const { data: delivery } = found
  // A test event is about a task that does not exist.
  const isTask =
    delivery !== undefined &&
    /^(video|transcription_task)\./.test(delivery.type) &&
    !/0{12}$/.test(delivery.object_id)
  const mayRepeat = delivery?.state === 'delivered' || delivery?.state === 'failed'
  return (
    <Sheet
      title={texts.title(delivery?.type ?? '…')}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{common.close}</Button>
          <Button
            variant="primary"
            isDisabled={!mayRepeat}
            isBusy={redeliver.isPending}
            onPress={() => redeliver.mutate()}
          >
            {texts.again}
          </Button>
        </>
      }
    >
      {redeliver.isError && <ErrorPanel error={redeliver.error} />}
      {delivery === undefined ? (
        found.isError ? (
          <ErrorPanel error={found.error} onRetry={() => void found.refetch()} />
        ) : (
          <Skeleton height={320} />
        )
      ) : (
        <>
          <Facts
            rows={[
              [columns.state, <DeliveryState key="state" state={delivery.state} />],
              [
                columns.url,
                <span key="url" className={styles['url']}>
                  {delivery.url ?? texts.deleted}
                </span>,
              ],
              delivery.endpoint_id === null ? [columns.name, texts.ofTask] : undefined,
              [
                texts.object,
                isTask ? (
                  <Link key="object" className="link" to="/tasks/$id" params={{ id: delivery.object_id }}>
                    {delivery.object_id}
                  </Link>
                ) : (
                  delivery.object_id
                ),
              ],
              [texts.event, <Id key="event" value={delivery.event_id} name={texts.event} />],
              [texts.delivery, <Id key="delivery" value={delivery.id} name={texts.delivery} />],
              [texts.occurred, <Time key="occurred" at={delivery.created_at} />],
              delivery.ended_at === null
                ? undefined
                : [texts.ended, <Time key="ended" at={delivery.ended_at} />],
            ]}
          />
          <h3>{texts.attempts}</h3>
          <AttemptList delivery={delivery} />
        </>
      )}
    </Sheet>
  )
}
