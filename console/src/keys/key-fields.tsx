/** The fields of a key. The allowed values are those of the API. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { keyFields, operatorRoles } from '../generated/key-and-webhook-fields.ts'
import { formatNumber, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Checklist } from '../ui/checklist.tsx'
import { ChoiceField, Segmented } from '../ui/choice.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { accountsQuery, modelsQuery, ownAddressQuery } from './choices.ts'
import type { Key, Manager } from './key-access.ts'
import {
  dialects,
  expiryDays,
  groups,
  listAddresses,
  periods,
  scopes,
  type Expiry,
  type KeyForm,
  type Problem,
  type Problems,
} from './key-form.ts'
import { keyTexts } from './texts.ts'

import styles from './key-fields.module.css'

export interface KeyFieldsProps {
  form: KeyForm
  onChange: (changes: Partial<KeyForm>) => void
  /** The key that is edited; null for a new one. */
  present: Key | null
  /** Shown after the first try to save. */
  problems: Problems
  /** What the service refused, by the name of the setting. */
  refused: { param: string; message: string } | undefined
  manager: Manager
}

const periodNames = { hour: 'perHour', day: 'perDay', week: 'perWeek', month: 'perMonth' } as const

const useErrors = ({ problems, refused }: KeyFieldsProps) => {
  const { problems: texts } = useTexts(keyTexts)
  const write = (name: string, problem: Problem): string => {
    if (problem.kind === 'amount') return texts.amount
    if (problem.kind === 'integer')
      return texts.integer(formatNumber(problem.minimum), formatNumber(problem.maximum))
    if (problem.kind === 'address') return texts.address(problem.address)
    if (problem.kind === 'time') return texts.time
    return texts.empty[name as keyof typeof texts.empty]
  }
  return (name: string): { error?: ReactNode } => {
    const problem = problems[name]
    if (problem !== undefined) return { error: write(name, problem) }
    const isRefused = refused?.param === name || refused?.param.startsWith(`${name}[`) === true
    return isRefused ? { error: refused?.message } : {}
  }
}

export const KeyFields = (props: KeyFieldsProps) => {
  const { form, onChange, present, manager } = props
  const { fields: texts, ...all } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  const isOperatorKey = form.kind === 'admin'
  return (
    <div className={styles['fields']}>
      <TextField
        label={texts.name}
        help={texts.nameHelp}
        value={form.name}
        onChange={(name) => onChange({ name })}
        maxLength={keyFields.name.maxLength}
        autoFocus
        autoComplete="off"
        {...errorOf('name')}
      />
      {manager.isOperator && present === null && <OwnerFields {...props} />}
      {isOperatorKey ? (
        <SelectField
          label={texts.role}
          help={all.roleNotes[form.role]}
          options={operatorRoles.map((role) => ({ value: role, label: all.roles[role] }))}
          value={form.role}
          onChange={(role) => onChange({ role })}
        />
      ) : (
        <>
          <Checklist
            label={texts.scopes}
            options={scopes.map((scope) => ({
              ...{ value: scope, label: all.scopes[scope], note: all.scopeNotes[scope] },
            }))}
            value={form.scopes}
            onChange={(chosen) => onChange({ scopes: chosen })}
            {...errorOf('scopes')}
          />
          <ModelFields {...props} />
        </>
      )}
      <ExpiryFields {...props} />
      {!isOperatorKey && <SpendingFields {...props} />}
      {(!isOperatorKey || present !== null) && <AddressField {...props} />}
      {!isOperatorKey && <RateFields {...props} />}
    </div>
  )
}

/** The account of a new key, and what it pays from. */
const OwnerFields = (props: KeyFieldsProps) => {
  const { form, onChange, manager } = props
  const { fields: texts, ...all } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  const { data: accounts = [] } = useQuery(accountsQuery)
  const isKnown = form.accountId === '' || accounts.some(({ value }) => value === form.accountId)
  const kinds: Key['kind'][] = [
    ...(['payg', 'subscription'] as const),
    ...(manager.session.operator?.role === 'admin' ? (['admin'] as const) : []),
  ]
  return (
    <>
      <ChoiceField
        label={texts.kind}
        choices={kinds.map((kind) => ({ value: kind, label: all.kinds[kind] }))}
        value={form.kind}
        onChange={(kind) => onChange({ kind, ...(kind === 'admin' && { expiry: '90' }) })}
      />
      {form.kind !== 'admin' && (
        <SelectField
          label={texts.account}
          placeholder={texts.chooseAccount}
          options={isKnown ? accounts : [...accounts, { value: form.accountId, label: form.accountId }]}
          value={form.accountId === '' ? null : form.accountId}
          onChange={(accountId) => onChange({ accountId })}
          {...errorOf('account')}
        />
      )}
    </>
  )
}

const ModelFields = (props: KeyFieldsProps) => {
  const { form, onChange, manager } = props
  const { fields: texts } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  const { data: models = [] } = useQuery(modelsQuery(manager.isOperator))
  const { models: chosen } = form
  const names = [...new Set([...models, ...(chosen ?? [])])]
  const { error } = errorOf('models')
  return (
    <div className="stack small">
      <div className={styles['heading']}>{texts.models}</div>
      <div>
        <Segmented
          label={texts.models}
          options={[
            { value: 'all', label: texts.modelChoice.all },
            { value: 'some', label: texts.modelChoice.some },
          ]}
          value={chosen === null ? 'all' : 'some'}
          onChange={(choice) => onChange({ models: choice === 'all' ? null : [] })}
        />
      </div>
      {chosen !== null && (
        <Checklist
          label={texts.modelChoice.some}
          range={texts.chosen(chosen.length, names.length)}
          options={names.map((name) => ({ value: name, label: name }))}
          value={chosen}
          onChange={(value) => onChange({ models: value })}
          {...(error !== undefined && { error })}
        />
      )}
    </div>
  )
}

const ExpiryFields = (props: KeyFieldsProps) => {
  const { form, onChange, present } = props
  const { fields: texts } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  const expiresAt = present?.expires_at ?? null
  const options: { value: Expiry; label: string }[] = [
    ...(expiresAt === null
      ? []
      : [{ value: 'keep' as const, label: texts.expiry.keep(formatTime(expiresAt)) }]),
    { value: 'never', label: texts.expiry.never },
    ...expiryDays.map((days) => ({ value: days, label: texts.expiry.days(days) })),
    { value: 'date', label: texts.expiry.date },
  ]
  return (
    <div className={styles['pair']}>
      <SelectField
        label={texts.expires}
        options={options}
        value={form.expiry}
        onChange={(expiry) => onChange({ expiry })}
        {...(form.expiry !== 'date' && errorOf('expires_at'))}
      />
      {form.expiry === 'date' && (
        <TextField
          label={texts.expiresAt}
          type="datetime-local"
          value={form.expiresAt}
          onChange={(at) => onChange({ expiresAt: at })}
          {...errorOf('expires_at')}
        />
      )}
    </div>
  )
}

const SpendingFields = (props: KeyFieldsProps) => {
  const { form, onChange, manager } = props
  const { fields: texts } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  const unit = manager.session.currency
  return (
    <fieldset className={styles['group']}>
      <legend>{texts.budgets}</legend>
      <p className="muted small-text">{texts.budgetHelp}</p>
      <div className={styles['pair']}>
        {periods.map((period) => (
          <TextField
            key={period}
            label={texts[periodNames[period]]}
            unit={unit}
            value={form.budgets[period]}
            onChange={(text) => onChange({ budgets: { ...form.budgets, [period]: text } })}
            {...errorOf(`budgets.${period}`)}
          />
        ))}
      </div>
      <TextField
        label={texts.quota}
        range={texts.optional}
        help={texts.quotaHelp}
        unit={unit}
        value={form.quota}
        onChange={(quota) => onChange({ quota })}
        {...errorOf('quota_micros')}
      />
    </fieldset>
  )
}

const AddressField = (props: KeyFieldsProps) => {
  const { form, onChange } = props
  const { fields: texts } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  const { data: address } = useQuery(ownAddressQuery)
  const addresses = listAddresses(form.addresses)
  return (
    <div className="stack small">
      <TextField
        label={texts.addresses}
        range={texts.optional}
        help={texts.addressHelp}
        isMultiline
        isMono
        rows={2}
        value={form.addresses}
        onChange={(text) => onChange({ addresses: text })}
        {...errorOf('addresses')}
      />
      {typeof address === 'string' && !addresses.includes(address) && (
        <div>
          <Button size="small" onPress={() => onChange({ addresses: [...addresses, address].join('\n') })}>
            {texts.addOwn(address)}
          </Button>
        </div>
      )}
    </div>
  )
}

const RateFields = (props: KeyFieldsProps) => {
  const { form, onChange } = props
  const { fields: texts } = useTexts(keyTexts)
  const errorOf = useErrors(props)
  return (
    <>
      <fieldset className={styles['group']}>
        <legend>{texts.rates}</legend>
        <TextField
          label={texts.requestsPerMinute}
          range={texts.optional}
          value={form.requestsPerMinute}
          onChange={(requestsPerMinute) => onChange({ requestsPerMinute })}
          {...errorOf('requests_per_minute')}
        />
        <div className={styles['pair']}>
          {groups.map((group) => (
            <TextField
              key={group}
              label={texts.groups[group]}
              value={form.limits[group]}
              onChange={(text) => onChange({ limits: { ...form.limits, [group]: text } })}
              {...errorOf(`limits.${group}`)}
            />
          ))}
        </div>
      </fieldset>
      <TextField
        label={texts.concurrency}
        range={texts.optional}
        help={texts.concurrencyHelp}
        value={form.concurrency}
        onChange={(concurrency) => onChange({ concurrency })}
        {...errorOf('concurrency')}
      />
      <ChoiceField
        label={texts.dialect}
        choices={dialects.map((dialect) => ({ value: dialect, label: texts.dialects[dialect] }))}
        value={form.dialect}
        onChange={(dialect) => onChange({ dialect })}
      />
    </>
  )
}
