/** When a model ends, and what takes its place. */
import type { ModelEntry } from '@kinora/client/admin'
import { useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Confirm, Sheet } from '../ui/sheet.tsx'
import { changeModel, getText } from './model-data.ts'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

interface LifeProps {
  model: ModelEntry
  models: readonly ModelEntry[]
}

const isDate = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

const RetireSheet = ({ model, models, onClose }: LifeProps & { onClose: () => void }) => {
  const texts = useTexts(modelTexts)
  const { form } = texts.life
  const [date, setDate] = useState(getText(model, 'shutdown_date') ?? '')
  const [successor, setSuccessor] = useState(getText(model, 'successor') ?? '-')
  const [isTried, setTried] = useState(false)
  const change = useChange()
  const candidates = models.filter(
    ({ id, kind, state }) => id !== model.id && kind === model.kind && state === 'active',
  )
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    setTried(true)
    if (!isDate(date)) return
    const settings = {
      ...{ state: 'deprecated', shutdown_date: date },
      successor: successor === '-' ? undefined : successor,
    }
    change.mutate(() => changeModel(model.id, settings), { onSuccess: onClose })
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
          <Button variant="dangerPrimary" isBusy={change.isPending} onPress={() => submit()}>
            {isDate(date) ? form.save(date) : form.saveAnyDate}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <p className="soft">{form.help}</p>
        <TextField
          {...{ label: form.date, help: form.dateHelp, placeholder: '2027-06-30', isMono: true }}
          {...{ value: date, onChange: setDate, autoComplete: 'off' }}
          {...(isTried && !isDate(date) && { error: form.dateProblem })}
        />
        <SelectField
          label={form.successor}
          options={[
            { value: '-', label: form.noSuccessor },
            ...candidates.map(({ id }) => ({ value: id, label: id })),
          ]}
          value={successor}
          onChange={setSuccessor}
        />
        <button type="submit" hidden aria-label={form.saveAnyDate} />
      </form>
      {change.error !== null && <ErrorPanel error={change.error} />}
    </Sheet>
  )
}

export const LifeCard = ({ model, models, mayChange }: LifeProps & { mayChange: boolean }) => {
  const { life: texts } = useTexts(modelTexts)
  const [isRetiring, setRetiring] = useState(false)
  const [isRestoring, setRestoring] = useState(false)
  const change = useChange()
  const isActive = model.state === 'active'
  // What the catalog or the file has set can only be replaced there.
  const mayRestore = !isActive && model.changed.some((name) => ['state', 'shutdown_date'].includes(name))
  const restore = () =>
    change.mutate(
      () =>
        changeModel(model.id, {
          ...{ state: 'active', deprecation_date: undefined },
          ...{ shutdown_date: undefined, successor: undefined },
        }),
      { onSuccess: () => setRestoring(false) },
    )
  return (
    <Card title={texts.title}>
      <div className="stack">
        {isActive ? (
          <p className="muted">{texts.active}</p>
        ) : (
          <Facts
            rows={[
              [texts.shutdown, getText(model, 'shutdown_date') ?? texts.none],
              [texts.successor, getText(model, 'successor') ?? texts.none],
            ]}
          />
        )}
        {mayChange && (
          <div className="row wrap">
            <Button size="small" onPress={() => setRetiring(true)}>
              {isActive ? texts.retire : texts.change}
            </Button>
            {mayRestore && (
              <Button size="small" onPress={() => setRestoring(true)}>
                {texts.restore}
              </Button>
            )}
          </div>
        )}
      </div>
      {isRetiring && <RetireSheet model={model} models={models} onClose={() => setRetiring(false)} />}
      <Confirm
        isOpen={isRestoring}
        question={texts.confirmRestore.question(model.id)}
        action={texts.confirmRestore.action}
        isDangerous={false}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={restore}
        onClose={() => setRestoring(false)}
      >
        <p>{texts.confirmRestore.effect}</p>
      </Confirm>
    </Card>
  )
}
