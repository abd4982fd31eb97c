/** Creates a key, or changes one. */
import { isKinoraError } from '@kinora/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { useId, useState, type FormEvent } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { formatMoney, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { createKey, keysKey, templateQuery, updateKey, type Key, type Manager } from './key-access.ts'
import { KeyFields } from './key-fields.tsx'
import { emptyForm, fillForm, findChanges, readForm, settingsOf, type KeyForm } from './key-form.ts'
import { keyTexts } from './texts.ts'

import styles from './key-sheet.module.css'

interface KeySheetProps {
  manager: Manager
  /** Undefined for a new key. */
  present?: Key
  /** Of a new key. */
  accountId?: string
  onCreated?: (key: Key, secret: string) => void
  onClose: () => void
}

export const KeySheet = (props: KeySheetProps) => {
  const { manager, present, accountId, onClose } = props
  const texts = useTexts(keyTexts)
  const template = useQuery({ ...templateQuery(manager), enabled: present === undefined })
  const title = present === undefined ? texts.sheet.create : texts.sheet.edit(present.name || texts.unnamed)
  const isReady = present !== undefined || template.isSuccess
  const own = template.data ?? null
  const start =
    present !== undefined
      ? fillForm(present)
      : own === null
        ? emptyForm(accountId ?? '', 'payg')
        : {
            ...fillForm({ ...own, quota_micros: null, budgets: [] }),
            name: '',
            scopes: own.scopes?.filter((scope) => scope !== 'account') ?? [],
          }
  if (isReady) return <ReadySheet {...props} title={title} start={start} template={own} />
  return (
    <Sheet title={title} isOpen onClose={onClose}>
      {template.isError ? (
        <ErrorPanel error={template.error} onRetry={() => void template.refetch()} />
      ) : (
        <Skeleton height={480} />
      )}
    </Sheet>
  )
}

interface ReadySheetProps extends KeySheetProps {
  title: string
  start: KeyForm
  /** A new key has these settings where the request has none. */
  template: Key | null
}

const ReadySheet = ({ manager, present, title, start, template, onCreated, onClose }: ReadySheetProps) => {
  const texts = useTexts(keyTexts)
  const common = useTexts(commonTexts)
  const id = useId()
  const [form, setForm] = useState(start)
  const [isTried, setTried] = useState(false)
  const base = present ?? template
  const { settings, problems } = readForm(form, base)
  const save = useMutation({
    mutationFn: async () => {
      if (present !== undefined) {
        const role = form.kind === 'admin' && form.role !== present.role ? { role: form.role } : {}
        return { key: await updateKey(manager, present.id, { ...changes, ...role }), secret: '' }
      }
      const owner = { kind: form.kind, accountId: form.accountId || undefined, role: form.role }
      return createKey(manager, owner, template === null ? settings : newSettings(template))
    },
    onSuccess: ({ key, secret }) => {
      void queryClient.invalidateQueries({ queryKey: keysKey })
      if (present === undefined) onCreated?.(key, secret)
      else {
        showToast(texts.sheet.saved(key.name))
        onClose()
      }
    },
  })
  const changes = present === undefined ? settings : findChanges(settings, settingsOf(present))
  const newSettings = (own: Key) => ({
    ...findChanges(settings, { ...settingsOf(own), quota_micros: null, budgets: [] }),
    name: settings.name ?? '',
    scopes: form.scopes,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (Object.keys(problems).length > 0 || save.isPending) return
    const isRoleChanged = form.kind === 'admin' && form.role !== present?.role
    if (present !== undefined && Object.keys(changes).length === 0 && !isRoleChanged) {
      showToast(texts.sheet.unchanged)
      onClose()
    } else save.mutate()
  }
  const { error } = save
  const param = isKinoraError(error) ? error.param : undefined
  const refused =
    isKinoraError(error) && typeof param === 'string' ? { param, message: error.message } : undefined
  return (
    <Sheet
      title={title}
      isOpen
      onClose={onClose}
      isKept={save.isPending}
      footer={
        <>
          <Button onPress={onClose} isDisabled={save.isPending}>
            {common.cancel}
          </Button>
          <Button type="submit" form={id} variant="primary" isBusy={save.isPending}>
            {present === undefined ? texts.sheet.submit : texts.sheet.save}
          </Button>
        </>
      }
    >
      <form id={id} onSubmit={submit} className="stack" noValidate>
        <KeyFields
          form={form}
          onChange={(changed) => setForm((now) => ({ ...now, ...changed }))}
          present={present ?? null}
          problems={isTried ? problems : {}}
          refused={refused}
          manager={manager}
        />
        {save.isError && <ErrorPanel error={error} />}
        {present === undefined && form.kind !== 'admin' && (
          <Summary form={form} manager={manager} base={base} />
        )}
      </form>
    </Sheet>
  )
}

/** What the new key may do at most, as a sentence. */
const Summary = ({ form, manager, base }: { form: KeyForm; manager: Manager; base: Key | null }) => {
  const { summary: texts, perPeriod } = useTexts(keyTexts)
  const { settings } = readForm(form, base)
  const { currency } = manager.session
  const limits = [
    ...(settings.budgets ?? []).map((each) =>
      texts.limit(formatMoney(each.limit_micros, currency), perPeriod[each.period]),
    ),
    ...(typeof settings.quota_micros === 'number'
      ? [texts.limit(formatMoney(settings.quota_micros, currency), perPeriod.total)]
      : []),
  ]
  const { expires_at: expiresAt } = settings
  return (
    <p className={styles['summary']}>
      <ShieldCheck aria-hidden />
      <span>
        {limits.length === 0 ? texts.unlimited : texts.spending(limits.join(texts.and))}
        {texts.models(form.models?.length ?? null)}
        {typeof expiresAt === 'number' && Number.isFinite(expiresAt) && texts.until(formatTime(expiresAt))}
        {texts.end}
      </span>
    </p>
  )
}
