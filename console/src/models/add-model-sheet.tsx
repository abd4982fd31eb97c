/** Adds a model that a provider offers, with its route and its prices. */
import type { Provider } from '@kinora/client/admin'
import { useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import type { Protocol } from '../providers/provider-data.ts'
import { findFieldError } from '../schema-form/field-error.ts'
import { SchemaFields, useProblemText } from '../schema-form/schema-fields.tsx'
import { readForm, type Written } from '../schema-form/schema-value.ts'
import { kinoraAdmin } from '../service.ts'
import { Button, LinkButton } from '../ui/button.tsx'
import { ChoiceField } from '../ui/choice.tsx'
import { EmptyState, ErrorPanel } from '../ui/feedback.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import type { ModelKind } from './model-data.ts'
import { PriceRows, readPrices, startPrice } from './price-rows.tsx'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

/** Fields that the sheet shows in a form of its own, or that a new model does not need. */
const ownFields = new Set(['aliases', 'state', 'deprecation_date', 'shutdown_date', 'successor'])
const shownFields = new Set(['seconds', 'sizes', 'images'])

export const isCapability = (name: string): boolean =>
  !ownFields.has(name) && name !== 'prices' && name !== 'routes'

/** `vendor/clip-turbo` becomes `clip-turbo`. */
const suggestId = (upstream: string) => (upstream.split('/').at(-1) ?? '').replaceAll(/[^\w.-]+/g, '-')

interface AddModelSheetProps {
  names: string[]
  providers: Provider[]
  protocols: Protocol[]
  kinds: ModelKind[]
  /** With the id of the model that was added. */
  onClose: (id?: string) => void
}

export const AddModelSheet = ({ names, providers, protocols, kinds, onClose }: AddModelSheetProps) => {
  const texts = useTexts(modelTexts)
  const describeProblem = useProblemText()
  const { form } = texts
  const usable = providers.filter(({ is_removed: isRemoved }) => !isRemoved)
  const [providerName, setProvider] = useState(
    (usable.find(({ kind }) => kind !== 'local') ?? usable[0])?.name ?? '',
  )
  const provider = usable.find(({ name }) => name === providerName)
  const served = protocols.find(({ kind }) => kind === provider?.kind)?.capabilities ?? []
  const [chosenKind, setKind] = useState<ModelKind['kind']>('video')
  const kind = served.includes(chosenKind) ? chosenKind : (served[0] ?? 'video')
  const [upstream, setUpstream] = useState('')
  const [givenId, setId] = useState<string | null>(null)
  const id = givenId ?? suggestId(upstream)
  const [written, setWritten] = useState<Written>({})
  const [prices, setPrices] = useState([startPrice('video')])
  const [costs, setCosts] = useState([startPrice('video')])
  const [isTried, setTried] = useState(false)
  const change = useChange()
  const fields = (kinds.find((each) => each.kind === kind)?.fields ?? [])
    .filter(({ name }) => isCapability(name))
    .map((field) =>
      shownFields.has(field.name)
        ? { ...field, advanced: false, required: field.required || field.name === 'seconds' }
        : field,
    )
  const { values, problems } = readForm(fields, written)
  const readPrice = readPrices(prices)
  const readCosts = readPrices(costs)
  const isNamed = /^[A-Za-z0-9][\w.-]{0,99}$/.test(id)
  const idError = names.includes(id) ? form.idTaken : isNamed ? undefined : form.idProblem
  const isValid =
    Object.keys(problems).length === 0 &&
    idError === undefined &&
    upstream.trim() !== '' &&
    readPrice !== undefined &&
    readPrice.length > 0 &&
    readCosts !== undefined
  const chooseKind = (next: ModelKind['kind']) => {
    setKind(next)
    setPrices([startPrice(next)])
    setCosts([startPrice(next)])
  }
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    setTried(true)
    if (!isValid) return
    const route = {
      ...{ provider: providerName, model: upstream.trim(), order: 1, weight: 1 },
      ...(readCosts.length > 0 && { costs: readCosts }),
    }
    change.mutate(
      () => kinoraAdmin.models.set(id, { settings: { kind, ...values, prices: readPrice, routes: [route] } }),
      {
        onSuccess: () => {
          showToast(form.added(id))
          onClose(id)
        },
      },
    )
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
  const currency = provider?.currency ?? 'USD'
  return (
    <Sheet
      title={form.title}
      isOpen
      isKept={change.isPending}
      onClose={() => onClose()}
      footer={
        usable.length > 0 && (
          <>
            <Button onPress={() => onClose()}>{texts.cancel}</Button>
            <Button variant="primary" isBusy={change.isPending} onPress={() => submit()}>
              {isNamed ? form.add(id) : form.addAny}
            </Button>
          </>
        )
      }
    >
      {usable.length === 0 ? (
        <EmptyState
          title={form.noProviders}
          actions={
            <LinkButton to="/providers" search={{ new: '1' }} variant="primary">
              {form.addProvider}
            </LinkButton>
          }
        />
      ) : (
        <form className="stack" onSubmit={submit} noValidate>
          <SelectField
            label={form.provider}
            options={usable.map(({ name }) => ({ value: name, label: name }))}
            value={providerName}
            onChange={setProvider}
          />
          <ChoiceField
            label={form.kind}
            choices={served.map((value) => ({ value, label: texts.kinds[value] }))}
            value={kind}
            onChange={chooseKind}
          />
          <TextField
            {...{ label: form.upstream, help: form.upstreamHelp, value: upstream, onChange: setUpstream }}
            {...{ isMono: true, isRequired: true, autoComplete: 'off' }}
            {...(isTried && upstream.trim() === '' && { error: form.upstreamProblem })}
          />
          <TextField
            {...{ label: form.id, help: form.idHelp, value: id, onChange: setId }}
            {...{ isMono: true, isRequired: true, autoComplete: 'off' }}
            {...((isTried || givenId !== null) && idError !== undefined && { error: idError })}
          />
          <PriceRows
            {...{ label: form.prices, kind, currency, rows: prices, onChange: setPrices }}
            error={isTried && (readPrice?.length ?? 0) === 0 ? form.pricesProblem : undefined}
          />
          <PriceRows
            {...{ label: form.costs, help: form.costsHelp, kind, currency, rows: costs, onChange: setCosts }}
            error={isTried && readCosts === undefined ? texts.prices.form.amountProblem : undefined}
          />
          <SchemaFields {...{ fields, written, onChange: setWritten, errors, currency }} />
          <button type="submit" hidden aria-label={form.addAny} />
        </form>
      )}
      {change.error !== null && Object.keys(refused).length === 0 && <ErrorPanel error={change.error} />}
    </Sheet>
  )
}
