/** What a model can do, and the form that changes it. */
import type { ModelEntry } from '@kinora/client/admin'
import { Pencil } from 'lucide-react'
import { useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { findFieldError } from '../schema-form/field-error.ts'
import { SchemaFields, useProblemText } from '../schema-form/schema-fields.tsx'
import { readForm, writeValue, type Written } from '../schema-form/schema-value.ts'
import { schemaFormTexts } from '../schema-form/texts.ts'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { Tag } from '../ui/status.tsx'
import { isCapability } from './add-model-sheet.tsx'
import { changeModel, type ModelKind } from './model-data.ts'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

interface CapabilitiesProps {
  model: ModelEntry
  kind: ModelKind | undefined
}

const CapabilitiesSheet = ({
  model,
  kind,
  onClose,
}: CapabilitiesProps & { kind: ModelKind; onClose: () => void }) => {
  const texts = useTexts(modelTexts)
  const describeProblem = useProblemText()
  const fields = kind.fields.filter(({ name }) => isCapability(name))
  const [written, setWritten] = useState<Written>(() =>
    Object.fromEntries(fields.map((field) => [field.name, writeValue(field, model.settings[field.name])])),
  )
  const [isTried, setTried] = useState(false)
  const change = useChange()
  const { values, problems } = readForm(fields, written)
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    setTried(true)
    if (Object.keys(problems).length > 0) return
    // Only what differs from the settings in force is set; what was emptied gets its original value again.
    const changes = fields.flatMap((field) => {
      const before = model.settings[field.name]
      const isSame = JSON.stringify(values[field.name]) === JSON.stringify(before)
      if (isSame) return []
      const isDefault = values[field.name] === undefined && (written[field.name] ?? '') !== ''
      if (isDefault && before === undefined) return []
      return [[field.name, isDefault ? field.default : values[field.name]] as const]
    })
    change.mutate(() => changeModel(model.id, Object.fromEntries(changes)), { onSuccess: onClose })
  }
  const refused = findFieldError(
    change.error,
    fields.map(({ name }) => name),
  )
  const errors = {
    ...(isTried &&
      Object.fromEntries(
        Object.entries(problems).map(([name, problem]) => [name, describeProblem(problem)]),
      )),
    ...refused,
  }
  return (
    <Sheet
      title={texts.capabilities.form(model.id)}
      isOpen
      isKept={change.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{texts.cancel}</Button>
          <Button variant="primary" isBusy={change.isPending} onPress={() => submit()}>
            {texts.capabilities.save}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <SchemaFields {...{ fields, written, onChange: setWritten, errors, currency: '' }} />
        <button type="submit" hidden aria-label={texts.capabilities.save} />
      </form>
      {change.error !== null && Object.keys(refused).length === 0 && <ErrorPanel error={change.error} />}
    </Sheet>
  )
}

export const CapabilitiesCard = ({ model, kind, mayChange }: CapabilitiesProps & { mayChange: boolean }) => {
  const { capabilities: texts } = useTexts(modelTexts)
  const { labels } = useTexts(schemaFormTexts)
  const [isEditing, setEditing] = useState(false)
  const show = (value: unknown): string => {
    if (typeof value === 'boolean') return value ? texts.yes : texts.no
    if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value)
    const named = value.map((each: unknown) => {
      const name = typeof each === 'object' && each !== null && 'name' in each ? each.name : each
      return String(name)
    })
    return named.join(', ')
  }
  const rows = (kind?.fields ?? []).flatMap(({ name, label }) => {
    const value = model.settings[name]
    if (!isCapability(name) || value === undefined || value === null) return []
    const title = (
      <>
        {labels[name] ?? label} {model.changed.includes(name) && <Tag color="blue">{texts.changed}</Tag>}
      </>
    )
    return [[title, show(value)] as const]
  })
  return (
    <Card
      title={texts.title}
      actions={
        mayChange &&
        kind !== undefined && (
          <Button size="small" icon={<Pencil />} onPress={() => setEditing(true)}>
            {texts.edit}
          </Button>
        )
      }
    >
      <Facts rows={rows} />
      {isEditing && kind !== undefined && (
        <CapabilitiesSheet model={model} kind={kind} onClose={() => setEditing(false)} />
      )}
    </Card>
  )
}
