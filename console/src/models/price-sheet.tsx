/** Sets a price from now or from a later time. */
import type { ModelEntry, PriceVersion, SetPriceParams } from '@kinora/client/admin'
import { useState, type FormEvent } from 'react'

import { formatMoney } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { kinoraAdmin } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { Segmented } from '../ui/choice.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { getUnits, readMicros } from './price-rows.tsx'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

interface PriceSheetProps {
  model: ModelEntry
  /** Those in effect. */
  prices: PriceVersion[]
  onClose: () => void
}

const getNow = () => Date.now()

export const PriceSheet = ({ model, prices, onClose }: PriceSheetProps) => {
  const texts = useTexts(modelTexts)
  const { form, conditions } = texts.prices
  const [first] = prices
  const [unit, setUnit] = useState(first?.unit ?? getUnits(model.kind)[0] ?? 'second')
  const [amount, setAmount] = useState('')
  const [resolution, setResolution] = useState(first?.resolution ?? '')
  const [sound, setSound] = useState<'any' | 'true' | 'false'>('any')
  const [input, setInput] = useState<'any' | 'text' | 'image' | 'video'>('any')
  const [start, setStart] = useState<'now' | 'later'>('now')
  const [startAt, setStartAt] = useState('')
  const [isTried, setTried] = useState(false)
  const change = useChange()
  const currency = first?.currency ?? 'USD'
  const micros = readMicros(amount)
  const startsAt = Math.floor(Date.parse(startAt) / 1_000)
  const isVideo = model.kind === 'video'
  const same = prices.find(
    (price) =>
      price.unit === unit &&
      (price.resolution ?? '') === resolution.trim() &&
      String(price.sound ?? 'any') === sound &&
      (price.input ?? 'any') === input,
  )
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    setTried(true)
    if (micros === undefined || (start === 'later' && !(startsAt * 1_000 > getNow()))) return
    const price = {
      ...{ model: model.id, unit: unit as SetPriceParams['unit'], unit_micros: micros },
      ...(resolution.trim() !== '' && { resolution: resolution.trim() }),
      ...(sound !== 'any' && { sound: sound === 'true' }),
      ...(input !== 'any' && { input }),
      ...(start === 'later' && { starts_at: startsAt }),
    }
    change.mutate(() => kinoraAdmin.prices.set(price), {
      onSuccess: () => {
        showToast(texts.prices.saved)
        onClose()
      },
    })
  }
  return (
    <Sheet
      title={form.title(model.id)}
      isOpen
      isKept={change.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{texts.cancel}</Button>
          <Button variant="primary" isBusy={change.isPending} onPress={() => submit()}>
            {micros === undefined ? texts.prices.change : form.save(formatMoney(micros, currency))}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <SelectField
          label={form.unit}
          options={getUnits(model.kind).map((each) => ({ value: each, label: texts.units[each] ?? each }))}
          value={unit}
          onChange={setUnit}
        />
        <TextField
          {...{ label: form.amount, value: amount, onChange: setAmount, unit: currency }}
          {...(same !== undefined && { range: form.was(formatMoney(same.unit_micros, same.currency)) })}
          {...(isTried && micros === undefined && { error: form.amountProblem })}
        />
        {isVideo && (
          <>
            <TextField
              {...{ label: form.resolution, help: form.resolutionHelp, isMono: true }}
              {...{ value: resolution, onChange: setResolution, autoComplete: 'off' }}
            />
            <SelectField
              label={form.sound}
              options={[
                { value: 'any', label: form.anySound },
                { value: 'true', label: conditions.sound },
                { value: 'false', label: conditions.noSound },
              ]}
              value={sound}
              onChange={setSound}
            />
            <SelectField
              label={form.input}
              options={[
                { value: 'any', label: form.anyInput },
                ...(['text', 'image', 'video'] as const).map((value) => ({
                  value,
                  label: conditions[value],
                })),
              ]}
              value={input}
              onChange={setInput}
            />
          </>
        )}
        <div className="row wrap">
          <span className="medium">{form.start}</span>
          <Segmented
            label={form.start}
            value={start}
            onChange={setStart}
            options={[
              { value: 'now', label: form.startNow },
              { value: 'later', label: form.startLater },
            ]}
          />
        </div>
        {start === 'later' && (
          <TextField
            {...{ label: form.startAt, type: 'datetime-local', value: startAt, onChange: setStartAt }}
            {...(isTried && !(startsAt > 0) && { error: form.startProblem })}
          />
        )}
        <p className="muted small-text">{texts.prices.note}</p>
        <button type="submit" hidden aria-label={texts.prices.change} />
      </form>
      {change.error !== null && <ErrorPanel error={change.error} />}
    </Sheet>
  )
}
