/** What is searched for: words, a class of statuses, and choices. */
import { Search } from 'lucide-react'
import { useState, type RefObject } from 'react'
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup'

import { useTexts } from '../i18n/texts.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import {
  describeFilter,
  formatLocal,
  hasAllPaths,
  isPeriod,
  parseLocal,
  periods,
  type RequestSearch,
} from './filters.ts'
import { readWords } from './read-words.ts'
import { requestTexts } from './texts.ts'
import { useChoices } from './use-choices.ts'

import styles from './filter-bar.module.css'

type Changes = { [Name in keyof RequestSearch]?: string | undefined }

interface FilterBarProps {
  search: RequestSearch
  isErrors: boolean
  onChange: (changes: Changes) => void
  searchField: RefObject<HTMLInputElement | null>
}

const statuses = ['2xx', '4xx', '5xx'] as const
const choiceNames = ['operation', 'model', 'account', 'key', 'code', 'provider'] as const

const Words = ({ search, onChange, searchField }: Omit<FilterBarProps, 'isErrors'>) => {
  const texts = useTexts(requestTexts).search
  const [typed, setTyped] = useState(search.q ?? '')
  const [written, setWritten] = useState(search.q)
  const [isUnknown, setUnknown] = useState(false)
  // A filter that is removed elsewhere leaves the field too.
  if (written !== search.q) {
    setWritten(search.q)
    setTyped(search.q ?? '')
  }
  const submit = () => {
    const words = readWords(typed)
    setUnknown(words.kind === 'unknown')
    if (words.kind === 'request') onChange({ id: words.value })
    else if (words.kind === 'nothing') onChange({ q: undefined })
    else if (words.kind !== 'unknown') onChange({ q: words.value })
  }
  return (
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
        value={typed}
        maxLength={300}
        aria-label={texts.label}
        aria-invalid={isUnknown}
        aria-describedby="request-search-help"
        placeholder={texts.short}
        onChange={(event) => {
          setTyped(event.target.value)
          setUnknown(false)
          if (event.target.value === '' && search.q !== undefined) onChange({ q: undefined })
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
        }}
      />
      <kbd aria-hidden>/</kbd>
      <p id="request-search-help" role="status" className={styles['unknown']}>
        {isUnknown && texts.unknown}
      </p>
    </form>
  )
}

const Period = ({ search, isErrors, onChange }: Omit<FilterBarProps, 'searchField'>) => {
  const texts = useTexts(requestTexts)
  const { since, until } = search
  const isCustom = until !== undefined || (since !== undefined && !isPeriod(since))
  const options = [
    { value: '', label: isErrors ? texts.any.sinceErrors : texts.any.since },
    ...Object.keys(periods)
      .filter((period) => !isErrors || period !== '24h')
      .map((value) => ({ value, label: describeFilter('since', value, texts) })),
    { value: 'custom', label: texts.custom },
  ]
  const choose = (value: string) => {
    if (value !== 'custom') return onChange({ since: value === '' ? undefined : value, until: undefined })
    const now = Math.floor(Date.now() / 1_000)
    const from = isPeriod(since) ? periods[since] : periods['24h']
    return onChange({ since: String(now - from), until: undefined })
  }
  return (
    <>
      <div className={styles['select']} data-active={since !== undefined || isCustom || undefined}>
        <SelectField
          label={texts.filters.since}
          isHiddenLabel
          isSmall
          options={options}
          value={isCustom ? 'custom' : isErrors && since === '24h' ? '' : (since ?? '')}
          onChange={choose}
        />
      </div>
      {isCustom && (
        <div className={styles['times']}>
          <TextField
            label={texts.from}
            isHiddenLabel
            type="datetime-local"
            value={isPeriod(since) ? '' : formatLocal(since)}
            onChange={(value) => onChange({ since: parseLocal(value) })}
          />
          <span className="muted">–</span>
          <TextField
            label={texts.to}
            isHiddenLabel
            type="datetime-local"
            value={formatLocal(until)}
            onChange={(value) => onChange({ until: parseLocal(value) })}
          />
        </div>
      )}
    </>
  )
}

export const FilterBar = ({ search, isErrors, onChange, searchField }: FilterBarProps) => {
  const texts = useTexts(requestTexts)
  const choices = useChoices(search)
  return (
    <search className={styles['bar']}>
      {!isErrors && (
        <>
          <Words search={search} onChange={onChange} searchField={searchField} />
          <div className={styles['select']}>
            <SelectField
              label={texts.paths.label}
              isHiddenLabel
              isSmall
              options={[
                { value: 'customers', label: texts.paths.customers },
                { value: 'all', label: texts.paths.all },
              ]}
              value={hasAllPaths(search) ? 'all' : 'customers'}
              onChange={(value) =>
                onChange(
                  value === 'all'
                    ? { paths: 'all' }
                    : { paths: undefined, operation: undefined, q: undefined },
                )
              }
            />
          </div>
          <RadioGroup
            aria-label={texts.filters.status}
            orientation="horizontal"
            className={styles['chips'] ?? ''}
            value={search.status ?? ''}
            onChange={(value) => onChange({ status: value === '' ? undefined : value })}
          >
            <Radio value="" className={styles['chip'] ?? ''}>
              {texts.any.status}
            </Radio>
            {statuses.map((status) => (
              <Radio key={status} value={status} className={styles['chip'] ?? ''}>
                {texts.statuses[status]}
              </Radio>
            ))}
          </RadioGroup>
        </>
      )}
      {choiceNames.map((choice) => (
        <div
          key={choice}
          className={styles['select']}
          data-active={search[choice] !== undefined || undefined}
        >
          <SelectField
            label={texts.filters[choice]}
            isHiddenLabel
            isSmall
            options={[{ value: '', label: texts.any[choice] }, ...choices[choice]]}
            value={search[choice] ?? ''}
            onChange={(value) =>
              onChange({
                [choice]: value === '' ? undefined : value,
                // A key belongs to one account.
                ...(choice === 'account' && { key: undefined }),
              })
            }
          />
        </div>
      ))}
      <Period search={search} isErrors={isErrors} onChange={onChange} />
    </search>
  )
}
