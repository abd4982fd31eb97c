/** What the list is narrowed to. */
import { useQuery } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup'

import { useTexts } from '../i18n/texts.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { accountsQuery } from './choices.ts'
import type { Key, Manager } from './key-access.ts'
import { isInFilter, keyFilters, type KeyFilter } from './key-state.ts'
import { keyTexts } from './texts.ts'

import styles from './key-filters.module.css'

interface KeyFiltersProps {
  keys: Key[]
  manager: Manager
  words: string
  filter: KeyFilter
  accountId: string | undefined
  onWords: (words: string) => void
  onFilter: (filter: KeyFilter) => void
  onAccount: (id: string | undefined) => void
}

export const KeyFilters = (props: KeyFiltersProps) => {
  const { keys, manager, words, filter, accountId, onWords, onFilter, onAccount } = props
  const texts = useTexts(keyTexts)
  const { data: accounts = [] } = useQuery({ ...accountsQuery, enabled: manager.isOperator })
  const isKnown = accountId === undefined || accounts.some(({ value }) => value === accountId)
  return (
    <search className={styles['bar']}>
      <div className={styles['words']}>
        <TextField
          label={manager.isOperator ? texts.searchAll : texts.search}
          placeholder={manager.isOperator ? texts.searchAll : texts.search}
          isHiddenLabel
          type="search"
          icon={<Search aria-hidden />}
          value={words}
          onChange={onWords}
          maxLength={200}
        />
      </div>
      <RadioGroup
        aria-label={texts.filter}
        orientation="horizontal"
        className={styles['chips'] ?? ''}
        value={filter}
        onChange={(value) => onFilter(value as KeyFilter)}
      >
        {keyFilters.map((each) => (
          <Radio key={each} value={each} className={styles['chip'] ?? ''}>
            {texts.filters[each]}
            <span className="muted">{keys.filter((key) => isInFilter(key, each)).length}</span>
          </Radio>
        ))}
      </RadioGroup>
      {manager.isOperator && (
        <div className={styles['select']}>
          <SelectField
            label={texts.account}
            isHiddenLabel
            isSmall
            options={[
              { value: '', label: texts.anyAccount },
              ...accounts,
              ...(isKnown ? [] : [{ value: accountId, label: accountId }]),
            ]}
            value={accountId ?? ''}
            onChange={(value) => onAccount(value === '' ? undefined : value)}
          />
        </div>
      )}
    </search>
  )
}
