/** What was sent to an endpoint, newest first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Segmented } from '../ui/choice.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Tag } from '../ui/status.tsx'
import { Cell, Row, RowLink, Table } from '../ui/table.tsx'
import { Id, Time } from '../ui/values.tsx'
import { nameOf } from './endpoint-actions.ts'
import { webhookTexts } from './texts.ts'
import {
  deliveriesQuery,
  deliveryStates,
  endpointsQuery,
  isDeliveryState,
  type WebhookDelivery,
} from './webhook-data.ts'

export const DeliveryState = ({ state }: Pick<WebhookDelivery, 'state'>) => {
  const { deliveries: texts } = useTexts(webhookTexts)
  const color = { pending: 'blue', delivered: 'green', failed: 'red', replaced: 'grey' } as const
  return <Tag color={color[state]}>{texts.states[state]}</Tag>
}

/** Where a delivery of the whole list goes. Two endpoints receive the same event. */
const Receiver = ({ delivery: { endpoint_id: id, url } }: { delivery: WebhookDelivery }) => {
  const { data: endpoints = [] } = useQuery(endpointsQuery)
  const endpoint = endpoints.find((each) => each.id === id)
  const name = endpoint === undefined ? (url ?? '–') : nameOf(endpoint)
  return (
    <span className="ellipsis" title={url ?? undefined}>
      {name}
    </span>
  )
}

/** Without an endpoint, those of all endpoints and of the URLs that tasks named. */
export const DeliveryList = ({ endpointId }: { endpointId?: string }) => {
  const { deliveries: texts, columns } = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const navigate = useNavigate({ from: '/webhooks' })
  const { status } = useSearch({ from: '/shell/webhooks' })
  const state = isDeliveryState(status) ? status : undefined
  const list = useInfiniteQuery(deliveriesQuery(endpointId, state))
  const deliveries = list.data?.pages.flatMap(({ data }) => data) ?? []
  const content = () => {
    if (list.isError && list.data === undefined)
      return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
    if (list.data === undefined) return <Skeleton height={320} />
    if (deliveries.length === 0)
      return <p className="muted">{state === undefined ? texts.empty : texts.emptyFilter}</p>
    return (
      <Table
        label={texts.title}
        columns={[
          columns.type,
          ...(endpointId === undefined ? [columns.name] : []),
          ...[columns.object, columns.state, columns.attempts, columns.at],
        ]}
      >
        {deliveries.map((delivery) => (
          <Row key={delivery.id} isLink>
            <Cell>
              <RowLink
                to="/webhooks"
                search={(present) => ({ ...present, delivery: delivery.id })}
                resetScroll={false}
              >
                {delivery.type}
              </RowLink>
            </Cell>
            {endpointId === undefined && (
              <Cell name={columns.name}>
                <Receiver delivery={delivery} />
              </Cell>
            )}
            <Cell name={columns.object}>
              <Id value={delivery.object_id} name={columns.object} hasCopy={false} />
            </Cell>
            <Cell name={columns.state}>
              <DeliveryState state={delivery.state} />
            </Cell>
            <Cell name={columns.attempts}>
              <span>
                {delivery.attempt_count}
                {delivery.next_attempt_at !== null && delivery.attempt_count > 0 && (
                  <span className="muted small-text">
                    {' · '}
                    {columns.next} <Time at={delivery.next_attempt_at} />
                  </span>
                )}
              </span>
            </Cell>
            <Cell name={columns.at}>
              <Time at={delivery.created_at} />
            </Cell>
          </Row>
        ))}
      </Table>
    )
  }
  return (
    <section className="stack" aria-label={texts.title}>
      <div className="row wrap between">
        <h2>{texts.title}</h2>
        <Segmented
          label={texts.filter}
          options={[
            { value: '', label: texts.all },
            ...deliveryStates.map((value) => ({ value, label: texts.states[value] })),
          ]}
          value={state ?? ''}
          onChange={(value) =>
            void navigate({
              search: ({ status: _status, ...rest }) => (value === '' ? rest : { ...rest, status: value }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      </div>
      {content()}
      {list.hasNextPage && (
        <div>
          <Button size="small" isBusy={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            {common.loadMore}
          </Button>
        </div>
      )}
    </section>
  )
}
