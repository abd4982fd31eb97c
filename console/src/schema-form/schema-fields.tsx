/** Fields of a form that are derived from JSON schemas. Those whose default suits almost everybody are folded away. */
import { ChevronRight } from 'lucide-react'
import { Button as DisclosureButton } from 'react-aria-components/Button'
import { Disclosure, DisclosurePanel } from 'react-aria-components/Disclosure'

import { formatNumber } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { CheckboxField, SelectField, SwitchField, TextField } from '../ui/field.tsx'
import { Prose } from './prose.tsx'
import {
  getAllowed,
  getForm,
  writeValue,
  type Problem,
  type SchemaField,
  type Written,
} from './schema-value.ts'
import { schemaFormTexts } from './texts.ts'

import styles from './schema-fields.module.css'

interface FieldProps {
  field: SchemaField
  written: string
  onChange: (written: string) => void
  error?: string | undefined
  /** Of amounts. */
  currency: string
  autoFocus?: boolean
}

export const useProblemText = (): ((problem: Problem) => string) => {
  const { problems } = useTexts(schemaFormTexts)
  return (problem) => {
    if ('limit' in problem) return problems[problem.problem](formatNumber(problem.limit, 6))
    return problem.problem === 'demand' ? problems.demand(problem.demand) : problems[problem.problem]
  }
}

/** No input needs a larger number. */
const largestShown = 1_000_000_000

interface SetFieldProps extends FieldProps {
  label: string
  help: string
}

const SetField = ({ field, written, onChange, label, help }: SetFieldProps) => {
  const chosen = written.split(', ').filter((each) => each !== '')
  return (
    <fieldset className={styles['set']}>
      <legend className="medium">{label}</legend>
      <div className="row wrap">
        {getAllowed(field).map((value) => (
          <CheckboxField
            key={value}
            isSelected={chosen.includes(value)}
            onChange={(isSelected) =>
              onChange(
                getAllowed(field)
                  .filter((each) => (each === value ? isSelected : chosen.includes(each)))
                  .join(', '),
              )
            }
          >
            <span className="mono">{value}</span>
          </CheckboxField>
        ))}
      </div>
      <p className={styles['help']}>
        <Prose text={help} />
      </p>
    </fieldset>
  )
}

const SchemaFieldInput = (props: FieldProps) => {
  const { field, written, onChange, error, currency, autoFocus = false } = props
  const texts = useTexts(schemaFormTexts)
  const form = getForm(field)
  const label = texts.labels[field.name] ?? field.label
  const help = field.help ?? texts.helps[field.name] ?? field.description
  const known = writeValue(field, field.default)
  const range = () => {
    const { minimum, maximum } = field.schema
    if (form !== 'number' || typeof minimum !== 'number' || typeof maximum !== 'number') return undefined
    if (maximum > largestShown) return texts.atLeast(formatNumber(minimum))
    return `${formatNumber(minimum)} – ${formatNumber(maximum)}`
  }
  const described = {
    label,
    help: <Prose text={help} />,
    ...(error !== undefined && { error }),
    ...(field.required ? {} : { range: range() ?? texts.optional }),
  }
  if (form === 'choices') return <SetField {...props} label={label} help={help} />
  if (form === 'switch' && typeof field.default === 'boolean') {
    return (
      <div className={styles['switch']}>
        <SwitchField
          isSelected={(written === '' ? known : written) === 'true'}
          onChange={(isOn) => onChange(String(isOn))}
        >
          <span className="medium">{label}</span>
        </SwitchField>
        <p className={styles['help']}>
          <Prose text={help} />
        </p>
      </div>
    )
  }
  if (form === 'choice' || form === 'switch') {
    const values = form === 'switch' ? ['true', 'false'] : getAllowed(field)
    const options = values.map((value) => ({
      value,
      label: form === 'switch' ? texts.switches[value as 'true' | 'false'] : value,
    }))
    const isOpen = !field.required && known === ''
    return (
      <SelectField
        {...described}
        options={[...(isOpen ? [{ value: '-', label: texts.notSet }] : []), ...options]}
        value={written === '' ? (isOpen ? '-' : known === '' ? null : known) : written}
        onChange={(value) => onChange(value === '-' ? '' : value)}
        placeholder={texts.choose}
      />
    )
  }
  const example = known === '' ? writeValue(field, field.example) : known
  return (
    <TextField
      {...described}
      value={written}
      onChange={onChange}
      placeholder={form === 'date' ? 'YYYY-MM-DD' : example}
      isMono={form !== 'number' && form !== 'money'}
      autoFocus={autoFocus}
      autoComplete="off"
      isRequired={field.required}
      {...(field.secret && { type: 'password' as const })}
      {...(form === 'json' && { isMultiline: true, rows: 4 })}
      {...(form === 'money' && { unit: currency })}
    />
  )
}

interface SchemaFieldsProps {
  fields: readonly SchemaField[]
  written: Written
  onChange: (written: Written) => void
  errors: Record<string, string>
  currency: string
}

export const SchemaFields = ({ fields, written, onChange, errors, currency }: SchemaFieldsProps) => {
  const texts = useTexts(schemaFormTexts)
  const show = (field: SchemaField) => (
    <SchemaFieldInput
      key={field.name}
      {...{ field, currency, error: errors[field.name], written: written[field.name] ?? '' }}
      onChange={(text) => onChange({ ...written, [field.name]: text })}
    />
  )
  const advanced = fields.filter((field) => field.advanced)
  const hasError = advanced.some(({ name }) => errors[name] !== undefined)
  return (
    <>
      {fields.filter((field) => !field.advanced).map(show)}
      {advanced.length > 0 && (
        <Disclosure className={styles['more'] ?? ''} {...(hasError && { isExpanded: true })}>
          <DisclosureButton slot="trigger" className={styles['trigger'] ?? ''}>
            <ChevronRight aria-hidden />
            {texts.more(advanced.length)}
          </DisclosureButton>
          <DisclosurePanel>
            <div className={`${styles['advanced']} stack`}>{advanced.map(show)}</div>
          </DisclosurePanel>
        </Disclosure>
      )}
    </>
  )
}
