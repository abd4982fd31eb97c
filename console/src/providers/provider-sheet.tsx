/** Adds or edits a provider with the form of its protocol, and tests it before it gets jobs. */
import type { Provider } from '@kinora/client/admin'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { findFieldError } from '../schema-form/field-error.ts'
import { SchemaFields, useProblemText } from '../schema-form/schema-fields.tsx'
import type { Written } from '../schema-form/schema-value.ts'
import { kinoraAdmin } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Note } from '../ui/feedback.tsx'
import { CheckboxField, SelectField, TextField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { refreshProviders, type Protocol, type ProviderTest } from './provider-data.ts'
import { checkName, readProviderForm, writeProviderForm } from './provider-form.ts'
import { TestSteps } from './test-panel.tsx'
import { providerTexts } from './texts.ts'

interface ProviderSheetProps {
  isOpen: boolean
  /** Absent to add one. */
  edited: Provider | undefined
  names: string[]
  protocols: Protocol[]
  /** With the name of the provider that was saved. */
  onClose: (name?: string) => void
}

interface Saved {
  provider: Provider
  test: ProviderTest
  testedAt: number
}

const getNow = () => Math.floor(Date.now() / 1_000)

const chooseFirst = (protocols: Protocol[]) =>
  protocols.find(({ kind }) => kind === 'openai')?.kind ?? protocols[0]?.kind ?? ''

export const ProviderSheet = ({ isOpen, edited, names, protocols, onClose }: ProviderSheetProps) => {
  const texts = useTexts(providerTexts)
  const describeProblem = useProblemText()
  const { form } = texts
  const [kind, setKind] = useState(edited?.kind ?? chooseFirst(protocols))
  const [name, setName] = useState(edited?.name ?? '')
  const protocol = protocols.find((each) => each.kind === kind)
  const [written, setWritten] = useState<Written>(() =>
    edited === undefined || protocol === undefined ? {} : writeProviderForm(edited, protocol),
  )
  const [isKeyRemoved, setKeyRemoved] = useState(false)
  const [isTried, setTried] = useState(false)
  const hint = edited?.credential_hint ?? null
  // The stored key stays if no other is given.
  const fields = (protocol?.fields ?? []).map((field) =>
    field.secret && hint !== null
      ? { ...field, required: false, example: form.keyPlaceholder, help: form.keepKey(hint) }
      : field,
  )
  const currency = edited?.currency ?? 'USD'
  const [saved, setSaved] = useState<Saved | null>(null)
  const { body, problems } = readProviderForm(kind, fields, written)
  const wantsJobs = body.enabled !== false
  const isNew = edited === undefined
  const put = (enabled: boolean) =>
    kinoraAdmin.providers.set(name, { ...body, enabled, ...(isKeyRemoved && { api_key: null }) })
  const save = useMutation({
    mutationFn: async (): Promise<Saved> => {
      // A new provider gets no jobs until its test has passed.
      const stored = await put(wantsJobs && !isNew)
      const test = await kinoraAdmin.providers.test(name)
      const provider = isNew && wantsJobs && test.ok ? await put(true) : stored
      return { provider, test, testedAt: getNow() }
    },
    onSuccess: setSaved,
    onSettled: refreshProviders,
  })
  const activate = useMutation({
    mutationFn: () => put(true),
    onSuccess: () => onClose(name),
    onSettled: refreshProviders,
  })
  const discard = useMutation({
    mutationFn: () => kinoraAdmin.providers.delete(name),
    onSuccess: () => onClose(),
    onSettled: refreshProviders,
  })
  const nameProblem = isNew && saved === null ? checkName(name, names) : undefined
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    setTried(true)
    if (nameProblem === undefined && Object.keys(problems).length === 0) save.mutate()
  }
  const isBusy = save.isPending || activate.isPending || discard.isPending
  const refused = findFieldError(save.error, [...fields.map((field) => field.name), 'name'])
  const errors = {
    ...(isTried &&
      Object.fromEntries(Object.entries(problems).map(([key, problem]) => [key, describeProblem(problem)]))),
    ...refused,
  }
  const nameError = isTried && nameProblem !== undefined ? form[nameProblem] : refused['name']
  const isDone = saved !== null && saved.test.ok && !isBusy
  const isDraft = saved !== null && !saved.test.ok && isNew && !isBusy
  const other = save.error !== null && Object.keys(refused).length === 0 ? save.error : null
  return (
    <Sheet
      title={isNew ? form.add : form.edit(edited.name)}
      isOpen={isOpen}
      isKept={isBusy}
      onClose={() => onClose(saved === null ? undefined : name)}
      footer={
        <>
          {isDraft && (
            <>
              <Button variant="danger" onPress={() => discard.mutate()}>
                {form.discard}
              </Button>
              <Button onPress={() => activate.mutate()}>{form.useAnyway}</Button>
            </>
          )}
          {saved === null && !isBusy && <Button onPress={() => onClose()}>{form.cancel}</Button>}
          {isDone ? (
            <Button variant="primary" onPress={() => onClose(name)} autoFocus>
              {form.done}
            </Button>
          ) : (
            <Button variant="primary" isBusy={isBusy} onPress={() => submit()}>
              {isNew ? form.testAndSave : form.saveAndTest}
            </Button>
          )}
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        {isNew && saved === null && (
          <>
            <SelectField
              label={form.protocol}
              help={
                protocol === undefined
                  ? form.protocolHelp
                  : `${protocol.description} ${form.serves(protocol.capabilities.map((each) => texts.kinds[each]).join(', '))}`
              }
              options={protocols.map((each) => ({ value: each.kind, label: each.title }))}
              value={kind}
              onChange={setKind}
            />
            <TextField
              label={form.name}
              help={form.nameHelp}
              value={name}
              onChange={setName}
              placeholder={`${kind}-main`}
              isMono
              isRequired
              autoComplete="off"
              maxLength={64}
              {...(nameError !== undefined && { error: nameError })}
            />
          </>
        )}
        <SchemaFields {...{ fields, written, onChange: setWritten, errors, currency }} />
        {hint !== null && (
          <CheckboxField isSelected={isKeyRemoved} onChange={setKeyRemoved}>
            {form.removeKey}
          </CheckboxField>
        )}
        {/* Enter in a field submits. */}
        <button type="submit" hidden aria-label={form.saveAndTest} />
      </form>
      {other !== null && <ErrorPanel error={other} />}
      {[activate.error, discard.error].map(
        (error, index) => error !== null && <ErrorPanel key={index} error={error} />,
      )}
      {(saved !== null || save.isPending) && (
        <TestSteps
          name={name}
          run={{
            isRunning: save.isPending,
            testedAt: saved?.testedAt ?? 0,
            ...(saved !== null && { test: saved.test }),
          }}
        />
      )}
      {isDone && (
        <Note kind="info" role="status">
          {saved.provider.enabled ? form.saved(name) : form.savedDisabled(name)}
        </Note>
      )}
      {isDraft && (
        <Note kind="warning" role="status">
          {form.notUsed}
        </Note>
      )}
    </Sheet>
  )
}
