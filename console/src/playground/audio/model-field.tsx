import { formatMoney } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { SelectField } from '../../ui/field.tsx'
import { findPrice, type AudioModel } from './audio-models.ts'
import { audioTexts } from './texts.ts'

interface ModelFieldProps {
  models: AudioModel[]
  value: string
  onChange: (id: string) => void
}

export const ModelField = ({ models, value, onChange }: ModelFieldProps) => {
  const texts = useTexts(audioTexts)
  const model = models.find(({ id }) => id === value)
  const describePrice = (priced: AudioModel): string | undefined => {
    const minute = findPrice(priced, 'minute')
    if (minute !== undefined) return texts.perMinute(formatMoney(minute.unit_micros, minute.currency))
    const million = findPrice(priced, 'million_characters')
    return million && texts.perMillion(formatMoney(million.unit_micros, million.currency))
  }
  const price = model && describePrice(model)
  return (
    <SelectField
      label={texts.model}
      {...(price !== undefined && { range: price })}
      {...(model?.engine !== undefined && { help: model.engine.quality })}
      options={models.map(({ id, alias_of: original }) => ({
        value: id,
        label: id,
        ...(original !== undefined && { note: `= ${original}` }),
      }))}
      value={value}
      onChange={onChange}
    />
  )
}
