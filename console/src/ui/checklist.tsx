/** A choice of several values from a list. */
import { useId, type ReactNode } from 'react'

import { CheckboxField } from './field.tsx'

import styles from './checklist.module.css'

interface ChecklistProps<Value extends string> {
  label: string
  range?: ReactNode
  error?: ReactNode
  options: { value: Value; label: string; note?: string; isDisabled?: boolean }[]
  value: readonly Value[]
  onChange: (value: Value[]) => void
}

export const Checklist = <Value extends string>({
  label,
  range,
  error,
  options,
  value,
  onChange,
}: ChecklistProps<Value>) => {
  const id = useId()
  return (
    <div className={styles['field']} role="group" aria-labelledby={id}>
      <div className={styles['head']}>
        <span id={id}>{label}</span>
        {range !== undefined && <span className={styles['range']}>{range}</span>}
      </div>
      <div
        className={styles['list']}
        data-has-notes={options.some(({ note }) => note !== undefined) || undefined}
      >
        {options.map((option) => (
          <CheckboxField
            key={option.value}
            isSelected={value.includes(option.value)}
            isDisabled={option.isDisabled ?? false}
            onChange={(isChosen) =>
              onChange(
                options
                  .map((each) => each.value)
                  .filter((each) => (each === option.value ? isChosen : value.includes(each))),
              )
            }
          >
            <span className={styles['notes']}>
              <span>{option.label}</span>
              {option.note !== undefined && <span className="muted small-text">{option.note}</span>}
            </span>
          </CheckboxField>
        ))}
      </div>
      {error !== undefined && (
        <p className={styles['error']} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
