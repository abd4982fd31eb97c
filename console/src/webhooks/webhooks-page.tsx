/** `/webhooks`: the endpoints of the account, and what was sent. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { DeliverySheet } from './delivery-sheet.tsx'
import { useEndpointDialogs } from './endpoint-dialogs.tsx'
import { EndpointList } from './endpoint-list.tsx'
import { EndpointPage } from './endpoint-page.tsx'
import { webhookTexts } from './texts.ts'
import { endpointsQuery } from './webhook-data.ts'

export const WebhooksPage = () => {
  const navigate = useNavigate({ from: '/webhooks' })
  const { id, delivery } = useSearch({ from: '/shell/webhooks' })
  const closeDelivery = () =>
    void navigate({ search: ({ delivery: _delivery, ...rest }) => rest, resetScroll: false })
  return (
    <>
      {id === undefined ? <Endpoints /> : <EndpointPage key={id} id={id} />}
      {delivery !== undefined && <DeliverySheet key={delivery} id={delivery} onClose={closeDelivery} />}
    </>
  )
}

const Endpoints = () => {
  const texts = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const navigate = useNavigate({ from: '/webhooks' })
  const search = useSearch({ from: '/shell/webhooks' })
  const list = useQuery(endpointsQuery)
  const { start, dialogs } = useEndpointDialogs({
    isCreating: search.new !== undefined,
    onCreateEnd: () => void navigate({ search: ({ new: _new, ...rest }) => rest, replace: true }),
  })
  const create = (
    <Button
      variant="primary"
      icon={<Plus aria-hidden />}
      onPress={() => void navigate({ search: (present) => ({ ...present, new: '1' }) })}
    >
      {texts.create}
    </Button>
  )
  const content = () => {
    if (list.isError && list.data === undefined)
      return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
    if (list.data === undefined) return <Skeleton height={320} />
    if (list.data.length === 0)
      return (
        <EmptyState title={texts.empty.title} actions={create}>
          {texts.empty.detail}
        </EmptyState>
      )
    return (
      <>
        <EndpointList endpoints={list.data} onAction={start} />
        <DeliveryList />
      </>
    )
  }
  const isEmpty = list.data?.length === 0
  return (
    <Page title={common.pages.webhooks} actions={!isEmpty && create}>
      {content()}
      {dialogs}
    </Page>
  )
}
