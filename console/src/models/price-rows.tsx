/** Amounts per unit: what customers pay, or what a provider charges. */
import { Plus, X } from 'lucide-react'

import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Tag } from '../ui/status.tsx'
import { modelTexts } from './texts.ts'

import styles from './model-forms.module.css'

type Input = 'text' | 'image' | 'video'

export interface WrittenPrice {
  id: number
  unit: string
  amount: string
  resolution: string
  sound?: boolean | undefined
  input?: string | undefined
}

export interface Price {
  unit: string
  micros: number
  resolution?: string
  sound?: boolean
  input?: Input
}

/** The units of the schema that models of a kind are sold by. */
const unitsByKind: Record<string, string[]> = {
  ...{ video: ['second', 'call', 'image'], speech: ['million_characters'], transcription: ['minute'] },
  chat: ['text_input', 'audio_input', 'text_output', 'audio_output'].map((part) => `million_${part}_tokens`),
}

export const getUnits = (kind: string): string[] => unitsByKind[kind] ?? []

let lastId = 0
export const startPrice = (kind: string): WrittenPrice => ({
  id: (lastId += 1),
  ...{ unit: getUnits(kind)[0] ?? 'second', amount: '', resolution: '' },
})

export const writePrice = (price: {
  unit: string
  micros: number
  resolution: string | null
  sound: boolean | null
  input: string | null
}): WrittenPrice => ({
  id: (lastId += 1),
  ...{ unit: price.unit, amount: String(price.micros / 1_000_000), resolution: price.resolution ?? '' },
  ...{ sound: price.sound ?? undefined, input: price.input ?? undefined },
})

/** Undefined for what is not an amount of 0 or more. */
export const readMicros = (amount: string): number | undefined => {
  const micros = Math.round(Number(amount) * 1_000_000)
  return amount.trim() === '' || !Number.isFinite(micros) || micros < 0 ? undefined : micros
}

/** Rows without an amount are left out; undefined if one has a wrong amount. */
export const readPrices = (rows: readonly WrittenPrice[]): Price[] | undefined => {
  const prices: Price[] = []
  for (const { unit, amount, resolution, sound, input } of rows) {
    if (amount.trim() === '') continue
    const micros = readMicros(amount)
    if (micros === undefined) return undefined
    prices.push({
      ...{ unit, micros },
      ...(resolution.trim() !== '' && { resolution: resolution.trim() }),
      ...(sound !== undefined && { sound }),
      ...(input !== undefined && { input: input as Input }),
    })
  }
  return prices
}

interface PriceRowsProps {
  label: string
  help?: string
  error?: string | undefined
  kind: string
  currency: string
  rows: WrittenPrice[]
  onChange: (rows: WrittenPrice[]) => void
}

export const PriceRows = ({ label, help, error, kind, currency, rows, onChange }: PriceRowsProps) => {
  const { priceRows: texts, units } = useTexts(modelTexts)
  const change = (id: number, part: Partial<WrittenPrice>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...part } : row)))
  return (
    <fieldset className={styles['prices']}>
      <legend className="medium">{label}</legend>
      {rows.map((row) => (
        <div key={row.id} className={styles['price']} data-video={kind === 'video' || undefined}>
          <TextField
            {...{ label: texts.amount, isHiddenLabel: true, value: row.amount, unit: currency }}
            placeholder="0.10"
            onChange={(amount) => change(row.id, { amount })}
          />
          <SelectField
            {...{ label: texts.unit, isHiddenLabel: true, value: row.unit }}
            options={getUnits(kind).map((unit) => ({ value: unit, label: units[unit] ?? unit }))}
            onChange={(unit) => change(row.id, { unit })}
          />
          {kind === 'video' && (
            <TextField
              {...{ label: texts.resolution, isHiddenLabel: true, value: row.resolution }}
              placeholder={texts.resolution}
              onChange={(resolution) => change(row.id, { resolution })}
            />
          )}
          <Button
            {...{ variant: 'ghost', isIcon: true, icon: <X />, label: texts.remove }}
            onPress={() => onChange(rows.filter(({ id }) => id !== row.id))}
          />
          {(row.sound !== undefined || row.input !== undefined) && (
            <span className={styles['conditions']}>
              {row.sound !== undefined && <Tag>{texts.sound[row.sound ? 'true' : 'false']}</Tag>}
              {row.input !== undefined && <Tag>{row.input}</Tag>}
            </span>
          )}
        </div>
      ))}
      <div>
        <Button size="small" icon={<Plus />} onPress={() => onChange([...rows, startPrice(kind)])}>
          {texts.add}
        </Button>
      </div>
      {help !== undefined && <p className="muted small-text">{help}</p>}
      {error !== undefined && <p className={styles['error']}>{error}</p>}
    </fieldset>
  )
}
