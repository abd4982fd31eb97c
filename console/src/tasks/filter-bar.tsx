/** What the list is narrowed to: words, states, and the choices of models, keys, accounts and providers. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { useEffect, useRef, useState, type RefObject } from 'react'
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { kinora, kinoraAdmin } from '../service.ts'
import { hasScope, useSession } from '../session/session.ts'
import { SelectField, type Option } from '../ui/field.tsx'
import { describeFilter, isTaskId, periods, type FilterName, type TaskSearch } from './filters.ts'
import type { TaskRow } from './rows/task-row.ts'
import { taskTexts } from './texts.ts'

import styles from './filter-bar.module.css'

/** Cancelled tasks are failed ones with their own code. */
const statuses = ['pending', 'processing', 'completed', 'failed'] as const

interface FilterBarProps {
  search: TaskSearch
  onChange: (name: FilterName, value: string | undefined) => void
  rows: TaskRow[]
  isOperatorView: boolean
  searchField: RefObject<HTMLInputElement | null>
}

interface Named {
  value: string
  label: string
}

/** The choices, with those of the listed tasks and the chosen one, which the session may not be allowed to list. */
const mergeOptions = (listed: Named[], seen: Named[], chosen: string | undefined): Named[] => {
  const merged = new Map<string, string>()
  for (const { value, label } of [...seen, ...listed]) if (value !== '') merged.set(value, label)
  if (chosen !== undefined && !merged.has(chosen)) merged.set(chosen, chosen)
  return [...merged]
    .map(([value, label]) => ({ value, label }))
    .toSorted((one, other) => one.label.localeCompare(other.label))
}

const useChoices = (isOperatorView: boolean) => {
  const session = useSession()
  const settings = {
    staleTime: 60_000,
    retry: false,
    placeholderData: (previous: Named[] | undefined) => previous,
  }
  const models = useQuery({
    queryKey: ['task-filters', 'models', isOperatorView],
    queryFn: async (): Promise<Named[]> => {
      const { data } = isOperatorView ? await kinoraAdmin.models.list() : await kinora.models.list()
      return data
        .filter(({ kind }) => kind === 'video' || (isOperatorView && kind === 'transcription'))
        .map(({ id }) => ({ value: id, label: id }))
    },
    ...settings,
  })
  const keys = useQuery({
    queryKey: ['task-filters', 'keys', isOperatorView],
    queryFn: async (): Promise<Named[]> => {
      const { data } = isOperatorView
        ? await kinoraAdmin.keys.list({ limit: 200 })
        : await kinora.keys.list({ limit: 100 })
      return data.map(({ id, name }) => ({ value: id, label: name }))
    },
    enabled: isOperatorView || hasScope(session, 'account'),
    ...settings,
  })
  const accounts = useQuery({
    queryKey: ['task-filters', 'accounts'],
    queryFn: async (): Promise<Named[]> =>
      (await kinoraAdmin.accounts.list({ limit: 200 })).data.map(({ id, name }) => ({
        value: id,
        label: name,
      })),
    enabled: isOperatorView,
    ...settings,
  })
  const providers = useQuery({
    queryKey: ['task-filters', 'providers'],
    queryFn: async (): Promise<Named[]> =>
      (await kinoraAdmin.providers.list()).data.map(({ name }) => ({ value: name, label: name })),
    enabled: isOperatorView,
    ...settings,
  })
  return {
    model: models.data ?? [],
    key: keys.data ?? [],
    account: accounts.data ?? [],
    provider: providers.data ?? [],
  }
}

/** The names of keys, for lists that have only their ids. */
export const useKeyNames = (): Map<string, string> => {
  const { key } = useChoices(false)
  return new Map(key.map(({ value, label }) => [value, label]))
}

const seenOptions: Record<'model' | 'key' | 'account' | 'provider', (row: TaskRow) => Named> = {
  model: ({ model }) => ({ value: model, label: model }),
  key: ({ keyId, keyName }) => ({ value: keyId, label: keyName ?? keyId }),
  account: ({ account }) => ({ value: account?.id ?? '', label: account?.name ?? '' }),
  provider: ({ provider }) => ({ value: provider ?? '', label: provider ?? '' }),
}

export const FilterBar = ({ search, onChange, rows, isOperatorView, searchField }: FilterBarProps) => {
  const texts = useTexts(taskTexts)
  const common = useTexts(commonTexts)
  const navigate = useNavigate()
  const choices = useChoices(isOperatorView)
  const [words, setWords] = useState(search.q ?? '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [written, setWritten] = useState(search.q)
  if (written !== search.q) {
    setWritten(search.q)
    if (words.trim() !== (search.q ?? '')) setWords(search.q ?? '')
  }
  useEffect(() => () => clearTimeout(timer.current), [])

  const type = (typed: string) => {
    setWords(typed)
    clearTimeout(timer.current)
    const wanted = typed.trim()
    if (isOperatorView || isTaskId(wanted)) return
    timer.current = setTimeout(() => onChange('q', wanted === '' ? undefined : wanted.slice(0, 200)), 350)
  }
  const submit = () => {
    const wanted = words.trim()
    if (isTaskId(wanted)) void navigate({ to: '/tasks/$id', params: { id: wanted } })
  }

  const selects = (
    ['model', 'key', ...(isOperatorView ? (['account', 'provider'] as const) : [])] as const
  ).map((name) => {
    const options = mergeOptions(choices[name], rows.slice(0, 200).map(seenOptions[name]), search[name])
    return { name, options: [{ value: '', label: texts.any[name] }, ...options] satisfies Option<string>[] }
  })
  const periodOptions: Option<string>[] = [
    { value: '', label: texts.any.since },
    ...Object.keys(periods).map((value) => ({ value, label: describeFilter('since', value, texts) })),
  ]
  if (search.since !== undefined && !Object.hasOwn(periods, search.since))
    periodOptions.push({ value: search.since, label: describeFilter('since', search.since, texts) })

  return (
    <search className={styles['bar']}>
      <form
        className={styles['words']}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <Search aria-hidden />
        <input
          ref={searchField}
          type="search"
          value={words}
          maxLength={300}
          onChange={(event) => type(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
          aria-label={isOperatorView ? texts.search.id : texts.search.prompt}
          placeholder={isOperatorView ? texts.search.id : texts.search.prompt}
        />
        <kbd aria-hidden>/</kbd>
      </form>
      <RadioGroup
        aria-label={texts.filters.status}
        orientation="horizontal"
        className={styles['chips'] ?? ''}
        value={search.status ?? ''}
        onChange={(value) => onChange('status', value === '' ? undefined : value)}
      >
        <Radio value="" className={styles['chip'] ?? ''}>
          {texts.any.status}
        </Radio>
        {statuses.map((status) => (
          <Radio key={status} value={status} className={styles['chip'] ?? ''}>
            {common.status[status]}
          </Radio>
        ))}
      </RadioGroup>
      {selects.map(({ name, options }) => (
        <div key={name} className={styles['select']} data-active={search[name] !== undefined || undefined}>
          <SelectField
            label={texts.filters[name]}
            isHiddenLabel
            isSmall
            options={options}
            value={search[name] ?? ''}
            onChange={(value) => onChange(name, value === '' ? undefined : value)}
          />
        </div>
      ))}
      <div className={styles['select']} data-active={search.since !== undefined || undefined}>
        <SelectField
          label={texts.filters.since}
          isHiddenLabel
          isSmall
          options={periodOptions}
          value={search.since ?? ''}
          onChange={(value) => onChange('since', value === '' ? undefined : value)}
        />
      </div>
    </search>
  )
}
