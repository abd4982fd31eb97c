/** A choice of one value as chips. What is impossible stays focusable, and says why below. */
import { Info, Lock } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Label } from 'react-aria-components/Label'
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup'

import styles from './choice.module.css'

export interface Choice<Value extends string> {
  value: Value
  label: ReactNode
  /** Why it cannot be chosen, with the way out. */
  reason?: ReactNode
}

interface ChoiceFieldProps<Value extends string> {
  label: string
  range?: ReactNode
  choices: Choice<Value>[]
  value: Value | null
  onChange: (value: Value) => void
  isDisabled?: boolean
}

export const ChoiceField = <Value extends string>({
  label,
  range,
  choices,
  value,
  onChange,
  isDisabled = false,
}: ChoiceFieldProps<Value>) => {
  const [refused, setRefused] = useState<Value | null>(null)
  const reason = choices.find((choice) => choice.value === refused)?.reason
  const choose = (chosen: string) => {
    const choice = choices.find((each) => each.value === chosen)
    if (choice === undefined) return
    setRefused(choice.reason === undefined ? null : choice.value)
    if (choice.reason === undefined) onChange(choice.value)
  }
  return (
    <RadioGroup
      value={value}
      onChange={choose}
      isDisabled={isDisabled}
      orientation="horizontal"
      className={styles['field'] ?? ''}
    >
      <div className={styles['head']}>
        <Label>{label}</Label>
        {range !== undefined && <span className={styles['range']}>{range}</span>}
      </div>
      <div className={styles['chips']}>
        {choices.map((choice) => (
          <Radio
            key={choice.value}
            value={choice.value}
            className={`${styles['chip']} ${choice.reason === undefined ? '' : styles['impossible']}`}
            {...(choice.reason !== undefined && { 'aria-describedby': `${label}-reason` })}
          >
            {choice.reason !== undefined && <Lock aria-hidden />}
            {choice.label}
          </Radio>
        ))}
      </div>
      {reason !== undefined && (
        <p className={styles['reason']} id={`${label}-reason`} role="status">
          <Info aria-hidden />
          <span>{reason}</span>
        </p>
      )}
    </RadioGroup>
  )
}

interface SegmentedProps<Value extends string> {
  label: string
  options: { value: Value; label: ReactNode }[]
  value: Value
  onChange: (value: Value) => void
}

/** A choice between a few views. */
export const Segmented = <Value extends string>({
  label,
  options,
  value,
  onChange,
}: SegmentedProps<Value>) => (
  <RadioGroup
    aria-label={label}
    value={value}
    onChange={(chosen) => onChange(chosen as Value)}
    orientation="horizontal"
    className={styles['segmented'] ?? ''}
  >
    {options.map((option) => (
      <Radio key={option.value} value={option.value} className={styles['segment'] ?? ''}>
        {option.label}
      </Radio>
    ))}
  </RadioGroup>
)
