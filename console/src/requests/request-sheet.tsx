/** One request: what was asked, by whom, what came of it, and for a failure what to do. */
import { isKinoraError } from '@kinora/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { BookOpen, ListVideo } from 'lucide-react'
import type { ReactNode } from 'react'

import { formatDuration } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { kinoraAdmin } from '../service.ts'
import { AnchorButton, LinkButton } from '../ui/button.tsx'
import { Facts } from '../ui/card.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { Tag } from '../ui/status.tsx'
import { CopyButton, Id, Time } from '../ui/values.tsx'
import type { RequestSearch } from './filters.ts'
import { MarkedText } from './marked-text.tsx'
import { StatusTag } from './status-tag.tsx'
import { requestTexts } from './texts.ts'
import type { LoggedRequest } from './use-request-rows.ts'

import styles from './request-sheet.module.css'

/** The causes of errors are those of the groups, so the group of this error is read. */
const useAdvice = (request: LoggedRequest) => {
  const { error_code: code, operation, at } = request
  return useQuery({
    queryKey: ['request-advice', code],
    queryFn: async () => {
      const around = { from: at - 60, to: at + 60, limit: 1 }
      const { data } = await kinoraAdmin.requests.errors({ error_code: code ?? '', operation, ...around })
      return data[0] ?? null
    },
    enabled: code !== null,
    staleTime: 'static',
    retry: false,
  })
}

const Advice = ({ request }: { request: LoggedRequest }) => {
  const texts = useTexts(requestTexts)
  const { data, isPending } = useAdvice(request)
  if (request.error_code === null) return null
  if (isPending) return <Skeleton height={132} />
  if (data === null || data === undefined) return null
  return (
    <section className={styles['advice']}>
      <h3>{texts.advice.cause}</h3>
      <p>
        <MarkedText text={data.cause} />
      </p>
      <h3>{texts.advice.whatToDo}</h3>
      <p>
        <MarkedText text={data.what_to_do} />
      </p>
      <div className="row wrap">
        <AnchorButton href={data.doc_url} target="_blank" size="small" icon={<BookOpen aria-hidden />}>
          {texts.advice.docs}
        </AnchorButton>
        <LinkButton
          to="/requests"
          search={{ code: request.error_code, operation: request.operation }}
          size="small"
        >
          {texts.sheet.sameError}
        </LinkButton>
      </div>
    </section>
  )
}

const Details = ({ request, search }: { request: LoggedRequest; search: RequestSearch }) => {
  const texts = useTexts(requestTexts).sheet
  const { account_id: account, key_id: key, task_id: task } = request
  const { id: _id, view: _view, account: _account, key: _key, q: _q, ...rest } = search
  const none = <span className="muted">{texts.none}</span>
  const rows: [ReactNode, ReactNode][] = [
    [texts.id, <Id key="id" value={request.id} name={texts.id} />],
    [texts.at, <Time key="at" at={request.at} />],
    [texts.duration, formatDuration(request.duration_ms)],
    [
      texts.operation,
      <span key="operation" className="mono">
        {request.operation}
      </span>,
    ],
    [texts.model, request.model ?? none],
    [texts.provider, request.provider ?? none],
    [
      texts.address,
      <span key="address" className="mono">
        {request.address}
      </span>,
    ],
    [texts.client, request.user_agent ?? none],
  ]
  const linked: [ReactNode, ReactNode][] = [
    [
      texts.task,
      task === null ? (
        none
      ) : (
        <span key="task" className={styles['id']}>
          <span className="mono">{task}</span>
          <CopyButton value={task} name={texts.task} />
        </span>
      ),
    ],
    [
      texts.account,
      account === null ? (
        none
      ) : (
        <Link key="account" to="/requests" search={{ ...rest, account }} className="link">
          {request.account_name ?? account}
        </Link>
      ),
    ],
    [
      texts.key,
      key === null ? (
        none
      ) : (
        <Link key="key" to="/keys" search={{ id: key }} className="link">
          {request.key_name ?? key}
        </Link>
      ),
    ],
  ]
  return (
    <>
      <div className="row wrap">
        <StatusTag status={request.status} />
        {request.error_code !== null && <Tag color="grey">{request.error_code}</Tag>}
      </div>
      <Advice request={request} />
      <section>
        <h3 className={styles['heading']}>{texts.linked}</h3>
        <Facts rows={linked} />
        <div className={`row wrap ${styles['links']}`}>
          {task !== null && (
            <LinkButton to="/tasks/$id" params={{ id: task }} size="small" icon={<ListVideo aria-hidden />}>
              {texts.openTask}
            </LinkButton>
          )}
          {key !== null && (
            <LinkButton to="/requests" search={{ ...rest, key }} size="small">
              {texts.sameKey}
            </LinkButton>
          )}
        </div>
      </section>
      <section>
        <h3 className={styles['heading']}>{texts.facts}</h3>
        <Facts rows={rows} />
      </section>
    </>
  )
}

interface RequestSheetProps {
  id: string | undefined
  search: RequestSearch
  onClose: () => void
}

export const RequestSheet = ({ id, search, onClose }: RequestSheetProps) => {
  const texts = useTexts(requestTexts).sheet
  const { data, error, refetch } = useQuery({
    queryKey: ['request', id],
    queryFn: () => kinoraAdmin.requests.get(id ?? ''),
    enabled: id !== undefined,
    staleTime: 'static',
  })
  const isMissing = isKinoraError(error) && error.status === 404
  return (
    <Sheet
      title={data === undefined ? texts.loading : texts.title(data.method, data.path)}
      isOpen={id !== undefined}
      onClose={onClose}
    >
      {isMissing ? (
        <EmptyState title={texts.missing}>{texts.missingDetail}</EmptyState>
      ) : error !== null ? (
        <ErrorPanel error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton height={420} />
      ) : (
        <Details request={data} search={search} />
      )}
    </Sheet>
  )
}
