import { useQuery } from '@tanstack/react-query'
/** Facts about the task, and what the customer sent. */
import { Link } from '@tanstack/react-router'

import { formatNumber, shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { hasRole, hasScope, useSession } from '../../session/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Code } from '../../ui/code.tsx'
import { ErrorPanel } from '../../ui/feedback.tsx'
import { Time } from '../../ui/values.tsx'
import { isOperator, orderQuery, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './details-card.module.css'

export const DetailsCard = ({ view }: { view: TaskView }) => {
  const { details: texts } = useTexts(taskTexts)
  const session = useSession()
  const { seconds, size, keyId, keyName, account, any } = view
  const requestId = view.steps.find(({ kind }) => kind === 'accepted')?.request_id ?? null
  const keyLabel = keyName ?? (session.key?.id === keyId ? session.key.name : shortenId(keyId))
  const retriedFrom = any?.task.retried_from ?? null
  return (
    <Card title={texts.title}>
      <Facts
        rows={[
          [texts.model, view.model],
          view.kind === 'transcription' ? [texts.kind, texts.transcription] : undefined,
          seconds === null ? undefined : [texts.length, texts.seconds(formatNumber(seconds, 1))],
          size === null ? undefined : [texts.size, size.replace('x', '×')],
          [
            texts.key,
            view.own !== null && hasScope(session, 'account') ? (
              <Link key="key" to="/keys" search={{ id: keyId }} className="link">
                {keyLabel}
              </Link>
            ) : (
              <span key="key" title={keyId}>
                {keyLabel}
              </span>
            ),
          ],
          account === null
            ? undefined
            : [
                texts.account,
                <Link key="account" to="/tasks" search={{ account: account.id, all: '1' }} className="link">
                  {account.name}
                </Link>,
              ],
          any === null || any.task.provider === null
            ? undefined
            : [
                texts.provider,
                <Link key="provider" to="/providers" search={{ name: any.task.provider }} className="link">
                  {any.task.provider}
                </Link>,
              ],
          any === null || any.task.stage === null ? undefined : [texts.stage, any.task.stage],
          [texts.created, <Time key="created" at={view.createdAt} />],
          view.finishedAt === null ? undefined : [texts.ended, <Time key="ended" at={view.finishedAt} />],
          requestId === null
            ? undefined
            : [
                texts.request,
                isOperator(session) ? (
                  <Link key="request" to="/requests" search={{ id: requestId }} className="link mono">
                    {shortenId(requestId)}
                  </Link>
                ) : (
                  <span key="request" className="mono" title={requestId}>
                    {shortenId(requestId)}
                  </span>
                ),
              ],
          retriedFrom === null
            ? undefined
            : [
                texts.retryOf,
                <Link key="retry" to="/tasks/$id" params={{ id: retriedFrom }} className="link mono">
                  {shortenId(retriedFrom)}
                </Link>,
              ],
        ]}
      />
    </Card>
  )
}

/** The prompt of a task without media beside it, and for operators the order, whose reads are recorded. */
export const PromptCard = ({ view }: { view: TaskView }) => {
  const { prompt: texts } = useTexts(taskTexts)
  const session = useSession()
  const { data: order, error, isFetching, refetch } = useQuery(orderQuery(view.id))
  const isOwn = view.own !== null
  if (isOwn && view.status !== 'failed' && view.status !== 'cancelled') return null
  if (!isOwn && !hasRole(session, 'support')) return null
  if (isOwn) {
    return (
      <Card title={texts.title}>
        <p className={styles['prompt']}>{view.prompt}</p>
      </Card>
    )
  }
  return (
    <Card title={texts.title}>
      <div className="stack small">
        {order === undefined ? (
          <>
            <Button isBusy={isFetching} onPress={() => void refetch()}>
              {texts.show}
            </Button>
            <p className="muted small-text">{texts.note}</p>
          </>
        ) : (
          <>
            <p className={styles['prompt']}>{order.prompt ?? texts.none}</p>
            <div className={styles['order']}>
              <Code text={JSON.stringify(order.order, null, 2)} name={texts.parameters} />
            </div>
          </>
        )}
        {error !== null && <ErrorPanel error={error} />}
      </div>
    </Card>
  )
}
