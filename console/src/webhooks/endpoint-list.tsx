import { useTexts } from '../i18n/texts.ts'
import { ActionMenu } from '../ui/action-menu.tsx'
import { Tag } from '../ui/status.tsx'
import { Cell, Row, RowLink, Table } from '../ui/table.tsx'
import { Time } from '../ui/values.tsx'
import { listEndpointActions, nameOf } from './endpoint-actions.ts'
import type { StartAction } from './endpoint-dialogs.tsx'
import { webhookTexts } from './texts.ts'
import type { WebhookEndpoint } from './webhook-data.ts'

import styles from './webhooks.module.css'

export const EndpointState = ({ endpoint }: { endpoint: WebhookEndpoint }) => {
  const texts = useTexts(webhookTexts)
  const { state, disabled_reason: reason, failures, failing_since: failingSince } = endpoint
  const color = { enabled: 'green', failing: 'red', disabled: 'grey' } as const
  return (
    <span className={styles['two']}>
      <span>
        <Tag color={color[state]}>{texts.states[state]}</Tag>
      </span>
      {reason !== null && <span className="muted small-text">{texts.reasons[reason]}</span>}
      {reason === null && failures > 0 && (
        <span className="muted small-text">
          {texts.failures(failures)}
          {failingSince !== null && (
            <>
              {' · '}
              <Time at={failingSince} isAge />
            </>
          )}
        </span>
      )}
    </span>
  )
}

export const EndpointList = ({
  endpoints,
  onAction,
}: {
  endpoints: WebhookEndpoint[]
  onAction: StartAction
}) => {
  const texts = useTexts(webhookTexts)
  const { columns } = texts
  return (
    <Table
      label={columns.name}
      columns={[columns.name, columns.events, columns.state, columns.created, null]}
    >
      {endpoints.map((endpoint) => {
        const { id, url, name, events, state, created_at: createdAt } = endpoint
        return (
          <Row key={id} isLink isQuiet={state === 'disabled'}>
            <Cell>
              <span className={styles['two']}>
                <RowLink to="/webhooks" search={{ id }}>
                  {name === '' ? url : name}
                </RowLink>
                {name !== '' && <span className={`muted small-text ${styles['url']}`}>{url}</span>}
              </span>
            </Cell>
            <Cell name={columns.events}>
              <span className={styles['two']}>
                <span>{texts.events(events.length)}</span>
                <span className="muted small-text" title={events.join(', ')}>
                  {events.slice(0, 2).join(', ')}
                  {events.length > 2 && ` +${events.length - 2}`}
                </span>
              </span>
            </Cell>
            <Cell name={columns.state}>
              <EndpointState endpoint={endpoint} />
            </Cell>
            <Cell name={columns.created}>
              <Time at={createdAt} />
            </Cell>
            <Cell isCorner>
              <ActionMenu
                label={texts.actionsOf(nameOf(endpoint))}
                actions={listEndpointActions(endpoint, texts.actions, onAction)}
              />
            </Cell>
          </Row>
        )
      })}
    </Table>
  )
}
