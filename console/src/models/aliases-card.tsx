import type { ModelEntry } from '@kinora/client/admin'
import { X } from 'lucide-react'
import { useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { changeModel, getAliases } from './model-data.ts'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

import styles from './model-detail.module.css'

/** Other names of a model. */
export const AliasesCard = ({ model, mayChange }: { model: ModelEntry; mayChange: boolean }) => {
  const { aliases: texts } = useTexts(modelTexts)
  const [added, setAdded] = useState('')
  const [asked, setAsked] = useState<string | null>(null)
  const change = useChange()
  const aliases = getAliases(model)
  const add = (event: FormEvent) => {
    event.preventDefault()
    const name = added.trim()
    if (name === '') return
    change.mutate(() => changeModel(model.id, { aliases: { ...aliases, [name]: {} } }), {
      onSuccess: () => setAdded(''),
    })
  }
  const remove = () => {
    const kept = Object.entries(aliases).filter(([name]) => name !== asked)
    change.mutate(() => changeModel(model.id, { aliases: Object.fromEntries(kept) }), {
      onSuccess: () => setAsked(null),
    })
  }
  return (
    <Card title={texts.title}>
      <div className="stack">
        {Object.keys(aliases).length === 0 ? (
          <p className="muted">{texts.none}</p>
        ) : (
          <ul className={styles['chips']}>
            {Object.keys(aliases).map((name) => (
              <li key={name} className={styles['chip']} data-fixed={!mayChange || undefined}>
                <span className="ellipsis">{name}</span>
                {mayChange && (
                  <Button
                    {...{ variant: 'ghost', size: 'small', isIcon: true, icon: <X /> }}
                    label={texts.remove(name)}
                    onPress={() => setAsked(name)}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
        {mayChange && (
          <form className={styles['inline']} onSubmit={add}>
            <div className="grow">
              <TextField
                {...{ label: texts.label, isHiddenLabel: true, placeholder: texts.label, isMono: true }}
                {...{ value: added, onChange: setAdded, autoComplete: 'off', maxLength: 100 }}
              />
            </div>
            <Button
              type="submit"
              isDisabled={added.trim() === ''}
              isBusy={change.isPending && asked === null}
            >
              {texts.add}
            </Button>
          </form>
        )}
        {change.error !== null && asked === null && <ErrorPanel error={change.error} />}
        <p className="muted small-text">{texts.help}</p>
      </div>
      <Confirm
        isOpen={asked !== null}
        question={texts.confirm.question(asked ?? '', model.id)}
        action={texts.confirm.action}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={remove}
        onClose={() => {
          change.reset()
          setAsked(null)
        }}
      >
        <p>{texts.confirm.effect(asked ?? '')}</p>
      </Confirm>
    </Card>
  )
}
