/** `/webhooks?id=…`: one endpoint, and what was sent to it. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { formatNumber, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Page } from '../shell/page.tsx'
import { ActionMenu } from '../ui/action-menu.tsx'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { Segmented } from '../ui/choice.tsx'
import { Code } from '../ui/code.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Id, Time } from '../ui/values.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { listEndpointActions, nameOf } from './endpoint-actions.ts'
import { useEndpointDialogs } from './endpoint-dialogs.tsx'
import { EndpointState } from './endpoint-list.tsx'
import { webhookTexts } from './texts.ts'
import { verifySnippets } from './verify-snippets.ts'
import { endpointQuery, type WebhookEndpoint } from './webhook-data.ts'

import styles from './webhooks.module.css'

export const EndpointPage = ({ id }: { id: string }) => {
  const texts = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const navigate = useNavigate({ from: '/webhooks' })
  const found = useQuery(endpointQuery(id))
  const { start, dialogs } = useEndpointDialogs({
    onRemoved: () => void navigate({ search: {}, replace: true }),
  })
  const endpoint = found.data
  const name = endpoint === undefined ? id : nameOf(endpoint)
  return (
    <Page
      title={name}
      heading={
        <h1 className={styles['path']}>
          <Link to="/webhooks" search={{}} className="muted">
            {common.pages.webhooks}
          </Link>
          <span className="muted" aria-hidden>
            /
          </span>
          <span className="ellipsis">{endpoint === undefined ? '…' : name}</span>
        </h1>
      }
      actions={
        endpoint !== undefined && (
          <>
            {endpoint.state !== 'disabled' && (
              <Button onPress={() => start('test', endpoint)}>{texts.actions.test}</Button>
            )}
            <ActionMenu
              label={texts.actionsOf(name)}
              actions={listEndpointActions(endpoint, texts.actions, start)}
            />
          </>
        )
      }
    >
      {endpoint === undefined ? (
        found.isError ? (
          <ErrorPanel error={found.error} onRetry={() => void found.refetch()} />
        ) : (
          <Skeleton height={480} />
        )
      ) : (
        <div className={styles['columns']}>
          <div className="stack">
            <DeliveryList endpointId={id} />
            <VerifyCard />
          </div>
          <EndpointFacts endpoint={endpoint} />
        </div>
      )}
      {dialogs}
    </Page>
  )
}

const EndpointFacts = ({ endpoint }: { endpoint: WebhookEndpoint }) => {
  const { detail: texts, sheet, columns } = useTexts(webhookTexts)
  const { id, url, events, payload, concurrency, secret_hint: hint } = endpoint
  const previousEnd = endpoint.previous_secret_expires_at
  return (
    <Card title={texts.title}>
      <Facts
        rows={[
          [columns.state, <EndpointState key="state" endpoint={endpoint} />],
          [
            columns.url,
            <span key="url" className={styles['url']}>
              {url}
            </span>,
          ],
          [
            columns.events,
            <span key="events" className={styles['list']}>
              {events.map((event) => (
                <span key={event}>{event}</span>
              ))}
            </span>,
          ],
          [sheet.payload, sheet.payloads[payload]],
          [sheet.concurrency, formatNumber(concurrency)],
          [
            texts.secret,
            hint === null ? (
              texts.secretLost
            ) : (
              <span key="secret" className="mono">
                {hint}
              </span>
            ),
          ],
          previousEnd === null ? undefined : [texts.previous, texts.previousUntil(formatTime(previousEnd))],
          [texts.id, <Id key="id" value={id} name={texts.id} />],
          [columns.created, <Time key="created" at={endpoint.created_at} />],
        ]}
      />
    </Card>
  )
}

const VerifyCard = () => {
  const { detail: texts } = useTexts(webhookTexts)
  const [chosen, setChosen] = useState(verifySnippets[0]?.name ?? '')
  const snippet = verifySnippets.find(({ name }) => name === chosen)
  return (
    <Card title={texts.verify} note={texts.verifyNote}>
      <div className="stack small">
        <div>
          <Segmented
            label={texts.verify}
            options={verifySnippets.map(({ name }) => ({ value: name, label: name }))}
            value={chosen}
            onChange={setChosen}
          />
        </div>
        {snippet !== undefined && <Code text={snippet.text} name={snippet.name} />}
      </div>
    </Card>
  )
}
