/** Labelled fields of forms. The range of allowed values is at the right of the label, the error below the field. */
import { Check, ChevronDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from 'react-aria-components/Button'
import { Checkbox } from 'react-aria-components/Checkbox'
import { FieldError } from 'react-aria-components/FieldError'
import { Input } from 'react-aria-components/Input'
import { Label } from 'react-aria-components/Label'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Popover } from 'react-aria-components/Popover'
import { Select, SelectValue } from 'react-aria-components/Select'
import { Switch } from 'react-aria-components/Switch'
import { Text } from 'react-aria-components/Text'
import { TextArea } from 'react-aria-components/TextArea'
import { TextField as AriaTextField } from 'react-aria-components/TextField'

import styles from './field.module.css'

interface Described {
  label: string
  /** Allowed values, at the right of the label. */
  range?: ReactNode
  /** One sentence below the field. */
  help?: ReactNode
  /** What is wrong with the value, and what is allowed. */
  error?: ReactNode
  isHiddenLabel?: boolean
}

interface TextFieldProps extends Described {
  value: string
  onChange: (value: string) => void
  placeholder?: string
  type?: 'text' | 'password' | 'url' | 'number' | 'search' | 'datetime-local'
  isMultiline?: boolean
  rows?: number
  isRequired?: boolean
  isDisabled?: boolean
  maxLength?: number
  autoFocus?: boolean
  autoComplete?: string
  name?: string
  /** In front of the text. */
  icon?: ReactNode
  unit?: ReactNode
  isMono?: boolean
}

const Head = ({ label, range, isHiddenLabel = false }: Described) => (
  <div className={isHiddenLabel ? 'visually-hidden' : styles['head']}>
    <Label>{label}</Label>
    {range !== undefined && <span className={styles['range']}>{range}</span>}
  </div>
)

const Foot = ({ help, error }: Pick<Described, 'help' | 'error'>) => (
  <>
    {help !== undefined && error === undefined && (
      <Text slot="description" className={styles['help'] ?? ''}>
        {help}
      </Text>
    )}
    <FieldError className={styles['error'] ?? ''}>{error}</FieldError>
  </>
)

export const TextField = ({
  label,
  range,
  help,
  error,
  isHiddenLabel = false,
  icon,
  unit,
  isMono = false,
  isMultiline = false,
  rows = 4,
  placeholder,
  type = 'text',
  maxLength,
  ...rest
}: TextFieldProps) => {
  const shared = {
    className: `${styles['input']} ${isMono ? 'mono' : ''}`,
    ...(placeholder !== undefined && { placeholder }),
    ...(maxLength !== undefined && { maxLength }),
  }
  return (
    <AriaTextField
      {...rest}
      className={styles['field'] ?? ''}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Head label={label} range={range} isHiddenLabel={isHiddenLabel} />
      {isMultiline ? (
        <TextArea {...shared} rows={rows} className={`${shared.className} ${styles['area']}`} />
      ) : (
        <div className={styles['line']}>
          {icon !== undefined && <span className={styles['before']}>{icon}</span>}
          <Input {...shared} type={type} data-has-icon={icon !== undefined || undefined} />
          {unit !== undefined && <span className={styles['unit']}>{unit}</span>}
        </div>
      )}
      <Foot help={help} error={error} />
    </AriaTextField>
  )
}

export interface Option<Value extends string> {
  value: Value
  label: string
  note?: string
}

interface SelectFieldProps<Value extends string> extends Described {
  options: Option<Value>[]
  value: Value | null
  onChange: (value: Value) => void
  placeholder?: string
  isDisabled?: boolean
  isSmall?: boolean
}

export const SelectField = <Value extends string>({
  label,
  range,
  help,
  error,
  isHiddenLabel = false,
  options,
  value,
  onChange,
  isSmall = false,
  ...rest
}: SelectFieldProps<Value>) => (
  <Select
    {...rest}
    className={styles['field'] ?? ''}
    isInvalid={error !== undefined}
    value={value}
    onChange={(key) => onChange(key as Value)}
  >
    <Head label={label} range={range} isHiddenLabel={isHiddenLabel} />
    <Button className={`${styles['input']} ${styles['select']} ${isSmall ? styles['small'] : ''}`}>
      <SelectValue className={styles['chosen'] ?? ''}>
        {({ selectedText, defaultChildren }) => selectedText || defaultChildren}
      </SelectValue>
      <ChevronDown aria-hidden />
    </Button>
    <Foot help={help} error={error} />
    <Popover className={styles['menu'] ?? ''}>
      <ListBox
        className={styles['list'] ?? ''}
        items={options.map((option) => ({ ...option, id: option.value }))}
      >
        {(option) => (
          <ListBoxItem id={option.value} textValue={option.label} className={styles['option'] ?? ''}>
            <span className="grow">{option.label}</span>
            {option.note !== undefined && <span className="muted small-text">{option.note}</span>}
            <Check className={styles['mark']} aria-hidden />
          </ListBoxItem>
        )}
      </ListBox>
    </Popover>
  </Select>
)

interface ToggleProps {
  isSelected: boolean
  onChange: (isSelected: boolean) => void
  isDisabled?: boolean
  children: ReactNode
  'aria-label'?: string
}

export const CheckboxField = ({ children, ...rest }: ToggleProps & { isIndeterminate?: boolean }) => (
  <Checkbox {...rest} className={styles['checkbox'] ?? ''}>
    <span className={styles['box']} aria-hidden>
      <Check />
    </span>
    {children}
  </Checkbox>
)

export const SwitchField = ({ children, ...rest }: ToggleProps) => (
  <Switch {...rest} className={styles['switch'] ?? ''}>
    <span className={styles['track']} aria-hidden />
    {children}
  </Switch>
)
