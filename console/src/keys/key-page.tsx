/** `/keys?id=…`: one key. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'

import { commonTexts } from '../i18n/common.ts'
import { formatNumber, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { useSession } from '../session/session.ts'
import { Page } from '../shell/page.tsx'
import { ActionMenu } from '../ui/action-menu.tsx'
import { Button, LinkButton } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Tag } from '../ui/status.tsx'
import { Id, Time } from '../ui/values.tsx'
import { findManager, keyQuery, type Key, type Manager } from './key-access.ts'
import { useKeyDialogs } from './key-actions.tsx'
import { isOfSession } from './key-confirm.tsx'
import { groups } from './key-form.ts'
import { StateTag, useKeyActions } from './key-list.tsx'
import { listSpending } from './key-state.ts'
import { SpendingBar } from './spending-bar.tsx'
import { keyTexts } from './texts.ts'
import { UsageCard } from './usage-card.tsx'

import styles from './key-page.module.css'

const refetchMs = 10_000

export const KeyPage = ({ id, wantsAll }: { id: string; wantsAll: boolean }) => {
  const texts = useTexts(keyTexts)
  const common = useTexts(commonTexts)
  const session = useSession()
  const navigate = useNavigate({ from: '/keys' })
  const found = useQuery({ ...keyQuery(session, id, wantsAll), refetchInterval: refetchMs })
  const manager = found.data?.manager ?? findManager(session, wantsAll)
  const { start, dialogs } = useKeyDialogs({
    manager,
    onRemoved: () => void navigate({ search: ({ id: _id, ...rest }) => rest, replace: true }),
  })
  const key = found.data?.key
  const name = key === undefined ? id : key.name || texts.unnamed
  return (
    <Page
      title={name}
      heading={
        <h1 className={styles['path']}>
          <Link to="/keys" search={({ id: _id, ...rest }) => rest} className="muted">
            {common.pages.keys}
          </Link>
          <span className="muted" aria-hidden>
            /
          </span>
          <span className="ellipsis">{key === undefined ? '…' : name}</span>
        </h1>
      }
      actions={key !== undefined && <Actions keyRow={key} manager={manager} onAction={start} />}
    >
      {key === undefined ? (
        found.isError ? (
          <ErrorPanel error={found.error} onRetry={() => void found.refetch()} />
        ) : (
          <Skeleton height={480} />
        )
      ) : (
        <div className={styles['columns']}>
          <div className="stack">
            {key.kind !== 'admin' && <SpendingCard keyRow={key} />}
            {key.kind !== 'admin' && <UsageCard keyRow={key} manager={manager} />}
            <SettingsCard keyRow={key} />
          </div>
          <KeyFacts keyRow={key} manager={manager} />
        </div>
      )}
      {dialogs}
    </Page>
  )
}

const Actions = ({
  keyRow,
  manager,
  onAction,
}: {
  keyRow: Key
  manager: Manager
  onAction: ReturnType<typeof useKeyDialogs>['start']
}) => {
  const texts = useTexts(keyTexts)
  const actions = useKeyActions(keyRow, manager, onAction)
  const [edit, ...others] = actions
  if (edit === undefined) return null
  return (
    <>
      <Button onPress={edit.onAction}>{edit.label}</Button>
      <ActionMenu label={texts.actionsOf(keyRow.name || texts.unnamed)} actions={others} />
    </>
  )
}

const SpendingCard = ({ keyRow }: { keyRow: Key }) => {
  const { detail: texts, unnamed } = useTexts(keyTexts)
  const spending = listSpending(keyRow)
  return (
    <Card title={texts.spending}>
      {spending.length === 0 ? (
        <p className="muted">{texts.unlimited}</p>
      ) : (
        <div className={styles['budgets']}>
          {spending.map((each) => (
            <div key={each.period} className="stack small">
              <SpendingBar spending={each} currency={keyRow.currency} name={keyRow.name || unnamed} />
              {each.resetsAt !== undefined && (
                <p className="muted small-text">{texts.resets(formatTime(each.resetsAt))}</p>
              )}
            </div>
          ))}
        </div>
      )}
    </Card>
  )
}

const SettingsCard = ({ keyRow }: { keyRow: Key }) => {
  const { detail: texts, fields, ...all } = useTexts(keyTexts)
  const { kind, role, scopes, models, addresses, limits, concurrency, dialect } = keyRow
  const rate = (value: number | null | undefined) =>
    value === null || value === undefined ? (
      <span className="muted">{texts.defaultLimit}</span>
    ) : (
      formatNumber(value)
    )
  const list = (values: string[], isMono = false) => (
    <span className={styles['list']}>
      {values.map((value) => (
        <span key={value} className={isMono ? 'mono' : ''}>
          {value}
        </span>
      ))}
    </span>
  )
  return (
    <Card title={texts.settings}>
      <Facts
        rows={[
          kind === 'admin'
            ? [fields.role, all.roles[role ?? 'read']]
            : [fields.scopes, (scopes ?? []).map((scope) => all.scopes[scope]).join(', ')],
          kind === 'admin' ? undefined : [fields.models, models === null ? all.allModels : list(models)],
          [fields.addresses, addresses === null ? texts.anyAddress : list(addresses, true)],
          kind === 'admin'
            ? undefined
            : [
                `${fields.rates}: ${fields.requestsPerMinute}`,
                keyRow.requests_per_minute === null ? all.noLimit : rate(keyRow.requests_per_minute),
              ],
          ...(kind === 'admin'
            ? []
            : groups.map(
                (group) => [`${fields.rates}: ${fields.groups[group]}`, rate(limits[group])] as const,
              )),
          kind === 'admin' ? undefined : [fields.concurrency, rate(concurrency)],
          kind === 'admin' ? undefined : [fields.dialect, fields.dialects[dialect]],
        ]}
      />
    </Card>
  )
}

const KeyFacts = ({ keyRow, manager }: { keyRow: Key; manager: Manager }) => {
  const { detail: texts, columns, ...all } = useTexts(keyTexts)
  const { id, hint, kind, account_name: account, expires_at: expiresAt, last_used_at: usedAt } = keyRow
  const previousEnd = keyRow.previous_secret_expires_at
  return (
    <div className="stack">
      <Card title={texts.key}>
        <Facts
          rows={[
            [
              texts.state,
              <span key="state" className="row">
                <StateTag keyRow={keyRow} />
                {isOfSession(keyRow, manager) && <Tag color="blue">{texts.signedIn}</Tag>}
              </span>,
            ],
            [
              columns.key,
              <span key="hint" className="mono">
                {hint}
              </span>,
            ],
            [texts.id, <Id key="id" value={id} name={texts.id} />],
            [columns.kind, all.kinds[kind]],
            manager.isOperator && account !== null ? [all.account, account] : undefined,
            [columns.used, usedAt === null ? all.never : <Time key="used" at={usedAt} isAge />],
            [columns.expires, expiresAt === null ? all.neverExpires : <Time key="expires" at={expiresAt} />],
            [all.createdAt, <Time key="created" at={keyRow.created_at} />],
            previousEnd === null ? undefined : [texts.previous, texts.previousUntil(formatTime(previousEnd))],
          ]}
        />
      </Card>
      {kind !== 'admin' && (
        <LinkButton to="/tasks" search={{ key: id, ...(manager.isOperator && { all: '1' }) }}>
          {texts.tasks}
        </LinkButton>
      )}
      {manager.isOperator && (
        <LinkButton to="/requests" search={{ key: id }}>
          {texts.requestLog}
        </LinkButton>
      )}
    </div>
  )
}
