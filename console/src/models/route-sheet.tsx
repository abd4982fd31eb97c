/** Adds or changes one route of a model. Its fields are those of the schema of routes. */
import type { ModelEntry, Provider, SetModelRoutesParams } from '@kinora/client/admin'
import { useQuery } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { SchemaFields, useProblemText } from '../schema-form/schema-fields.tsx'
import { readForm, writeValue, type SchemaField, type Written } from '../schema-form/schema-value.ts'
import { kinoraAdmin } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { kindsQuery, type ModelKind, type Route } from './model-data.ts'
import { PriceRows, readPrices, startPrice, writePrice } from './price-rows.tsx'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

type RouteBody = SetModelRoutesParams['routes'][number]

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const names = ['order', 'weight', 'seconds', 'sizes', 'slots']
const forVideo = new Set(['seconds', 'sizes'])

/** The fields of a route, from the schema of the field `routes` of the kind. */
const readRouteFields = (kind: ModelKind | undefined, labels: Record<string, string>): SchemaField[] => {
  const schema = kind?.fields.find(({ name }) => name === 'routes')?.schema
  const items = schema?.['items']
  const properties = isRecord(items) && isRecord(items['properties']) ? items['properties'] : {}
  return names.flatMap((name) => {
    const property = properties[name]
    if (!isRecord(property) || (forVideo.has(name) && kind?.kind !== 'video')) return []
    const { description, default: initial = null } = property
    return [
      {
        ...{ name, label: labels[name] ?? name, schema: property, default: initial, example: null },
        ...{ required: false, secret: false, advanced: false },
        description: typeof description === 'string' ? description : '',
      },
    ]
  })
}

interface RouteSheetProps {
  model: ModelEntry
  /** Absent to add one. */
  edited: Route | undefined
  providers: Provider[]
  others: RouteBody[]
  onClose: () => void
}

export const RouteSheet = ({ model, edited, providers, others, onClose }: RouteSheetProps) => {
  const texts = useTexts(modelTexts)
  const describeProblem = useProblemText()
  const { routeForm: form } = texts
  const { data: kinds = [] } = useQuery(kindsQuery)
  const fields = readRouteFields(
    kinds.find(({ kind }) => kind === model.kind),
    texts.routeFields,
  )
  const [provider, setProvider] = useState(
    edited?.provider ??
      providers.find(({ name }) => !others.some((each) => each.provider === name))?.name ??
      providers[0]?.name ??
      '',
  )
  const known = providers.find(({ name }) => name === provider)
  const [upstream, setUpstream] = useState(
    edited === undefined || edited.model === model.id ? '' : edited.model,
  )
  const [written, setWritten] = useState<Written>(() => {
    const last = Math.max(0, ...others.map(({ order }) => order ?? 1))
    if (edited === undefined) return { order: String(last + 1) }
    const values: Record<string, unknown> = {
      ...edited,
      slots: edited.slots === known?.slots ? null : edited.slots,
    }
    return Object.fromEntries(fields.map((field) => [field.name, writeValue(field, values[field.name])]))
  })
  const [costs, setCosts] = useState(() => edited?.costs?.map(writePrice) ?? [startPrice(model.kind)])
  const [isTried, setTried] = useState(false)
  const change = useChange()
  const { values, problems } = readForm(fields, written)
  const readCosts = readPrices(costs)
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    setTried(true)
    if (Object.keys(problems).length > 0 || readCosts === undefined) return
    const route = {
      ...(values as Partial<RouteBody>),
      ...{ provider },
      ...(upstream.trim() !== '' && { model: upstream.trim() }),
      ...(readCosts.length > 0 && { costs: readCosts }),
    }
    change.mutate(() => kinoraAdmin.models.setRoutes(model.id, { routes: [...others, route] }), {
      onSuccess: onClose,
    })
  }
  const errors = isTried
    ? Object.fromEntries(Object.entries(problems).map(([name, problem]) => [name, describeProblem(problem)]))
    : {}
  return (
    <Sheet
      title={edited === undefined ? form.add(model.id) : form.edit(edited.provider)}
      isOpen
      isKept={change.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{texts.cancel}</Button>
          <Button
            variant="primary"
            isBusy={change.isPending}
            isDisabled={provider === ''}
            onPress={() => submit()}
          >
            {form.save}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <SelectField
          label={form.provider}
          help={form.providerHelp(texts.kinds[model.kind])}
          options={providers.map(({ name }) => ({ value: name, label: name }))}
          value={provider}
          onChange={setProvider}
        />
        <TextField
          {...{ label: form.upstream, help: form.upstreamHelp(model.id), placeholder: model.id }}
          {...{ value: upstream, onChange: setUpstream, isMono: true, autoComplete: 'off' }}
        />
        <SchemaFields
          {...{ fields, written, onChange: setWritten, errors, currency: known?.currency ?? 'USD' }}
        />
        <PriceRows
          {...{ label: form.costs, help: form.costsHelp, kind: model.kind, rows: costs, onChange: setCosts }}
          currency={known?.currency ?? 'USD'}
          error={isTried && readCosts === undefined ? texts.prices.form.amountProblem : undefined}
        />
        <button type="submit" hidden aria-label={form.save} />
      </form>
      {change.error !== null && <ErrorPanel error={change.error} />}
    </Sheet>
  )
}
