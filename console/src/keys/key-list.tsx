import { shortenId } from '../i18n/format.ts'
/** The keys as a table. */
import { useTexts } from '../i18n/texts.ts'
import { ActionMenu, type MenuAction } from '../ui/action-menu.tsx'
import { Tag } from '../ui/status.tsx'
import { Cell, Row, RowLink, Table } from '../ui/table.tsx'
import { Time } from '../ui/values.tsx'
import type { Key, Manager } from './key-access.ts'
import { findState, findTightest } from './key-state.ts'
import { SpendingBar } from './spending-bar.tsx'
import { keyTexts } from './texts.ts'

import styles from './key-list.module.css'

export type KeyAction = 'edit' | 'rotate' | 'disable' | 'enable' | 'remove'

export const StateTag = ({ keyRow }: { keyRow: Key }) => {
  const texts = useTexts(keyTexts)
  const state = findState(keyRow)
  const color = { active: 'green', expiring: 'amber', disabled: 'grey', expired: 'red' } as const
  return <Tag color={color[state]}>{texts.states[state]}</Tag>
}

const Rights = ({ keyRow: { kind, role, scopes, models, addresses } }: { keyRow: Key }) => {
  const texts = useTexts(keyTexts)
  if (kind === 'admin') return <span>{texts.roles[role ?? 'read']}</span>
  return (
    <span className={styles['two']}>
      <span>{(scopes ?? []).map((scope) => texts.scopes[scope]).join(', ')}</span>
      <span className="muted small-text" title={models?.join(', ')}>
        {models === null ? texts.allModels : texts.models(models.length)}
        {addresses !== null && ` · ${addresses[0]}${addresses.length > 1 ? ` +${addresses.length - 1}` : ''}`}
      </span>
    </span>
  )
}

const Expiry = ({ keyRow }: { keyRow: Key }) => {
  const texts = useTexts(keyTexts)
  const state = findState(keyRow)
  const { expires_at: expiresAt } = keyRow
  if (state === 'active')
    return expiresAt === null ? <span className="muted">{texts.neverExpires}</span> : <Time at={expiresAt} />
  if (state === 'disabled' || expiresAt === null) return <StateTag keyRow={keyRow} />
  return (
    <Tag color={state === 'expired' ? 'red' : 'amber'}>
      {state === 'expired' ? texts.states.expired : <Time at={expiresAt} isAge />}
    </Tag>
  )
}

export const useKeyActions = (
  key: Key,
  { mayChange, session }: Manager,
  onAction: (action: KeyAction, key: Key) => void,
): MenuAction[] => {
  const texts = useTexts(keyTexts)
  const isAllowed = mayChange && (key.kind !== 'admin' || session.operator?.role === 'admin')
  if (!isAllowed) return []
  const names: KeyAction[] = ['edit', 'rotate', key.disabled ? 'enable' : 'disable', 'remove']
  return names.map((id) => ({
    ...{ id, label: texts.actions[id], onAction: () => onAction(id, key) },
    ...(id === 'remove' && { isDangerous: true }),
  }))
}

interface KeyLineProps {
  keyRow: Key
  manager: Manager
  onAction: (action: KeyAction, key: Key) => void
}

const KeyLine = ({ keyRow, manager, onAction }: KeyLineProps) => {
  const texts = useTexts(keyTexts)
  const { id, name, hint, kind, account_name: account, last_used_at: usedAt, created_at: createdAt } = keyRow
  const actions = useKeyActions(keyRow, manager, onAction)
  const spending = findTightest(keyRow)
  const state = findState(keyRow)
  const shownName = name === '' ? texts.unnamed : name
  return (
    <Row isLink isQuiet={state === 'expired' || state === 'disabled'}>
      <Cell>
        <span className={styles['two']}>
          <RowLink to="/keys" search={(present) => ({ ...present, id })}>
            {shownName}
          </RowLink>
          {manager.isOperator && <span className="muted small-text">{account ?? texts.kinds.admin}</span>}
        </span>
      </Cell>
      <Cell name={texts.columns.key}>
        <span className="mono nowrap">{hint}</span>
      </Cell>
      <Cell name={texts.columns.kind}>{texts.kinds[kind]}</Cell>
      <Cell name={texts.columns.rights}>
        <Rights keyRow={keyRow} />
      </Cell>
      <Cell name={texts.columns.spending}>
        {spending === undefined ? (
          <span className="muted">{kind === 'admin' ? '–' : texts.noLimit}</span>
        ) : (
          <span className={styles['bar']}>
            <SpendingBar spending={spending} currency={keyRow.currency} name={shownName} />
          </span>
        )}
      </Cell>
      <Cell name={texts.columns.used}>
        <span className={styles['two']}>
          {usedAt === null ? <span>{texts.never}</span> : <Time at={usedAt} isAge />}
          {usedAt === null && (
            <span className="muted small-text">
              {texts.createdAt} <Time at={createdAt} isAge />
            </span>
          )}
        </span>
      </Cell>
      <Cell name={texts.columns.expires}>
        <Expiry keyRow={keyRow} />
      </Cell>
      <Cell isCorner>
        {actions.length > 0 && (
          <ActionMenu label={texts.actionsOf(name === '' ? shortenId(id) : name)} actions={actions} />
        )}
      </Cell>
    </Row>
  )
}

interface KeyListProps {
  keys: Key[]
  manager: Manager
  onAction: (action: KeyAction, key: Key) => void
}

export const KeyList = ({ keys, ...rest }: KeyListProps) => {
  const { columns } = useTexts(keyTexts)
  const names = [
    ...[columns.name, columns.key, columns.kind, columns.rights],
    ...[columns.spending, columns.used, columns.expires, null],
  ]
  return (
    <Table label={columns.key} columns={names}>
      {keys.map((key) => (
        <KeyLine key={key.id} keyRow={key} {...rest} />
      ))}
    </Table>
  )
}
