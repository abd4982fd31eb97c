/** Shows a secret once. It is closed only after it was saved. */
import { useEffect, useState, type ReactNode } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../button.tsx'
import { Segmented } from '../choice.tsx'
import { Code } from '../code.tsx'
import { Note } from '../feedback.tsx'
import { CheckboxField } from '../field.tsx'
import { Sheet } from '../sheet.tsx'
import { CopyButton } from '../values.tsx'
import { secretTexts } from './texts.ts'

import styles from './secret-sheet.module.css'

interface SecretSheetProps {
  title: string
  secret: string
  /** The secret in use, such as a request with it. */
  examples: { name: string; text: string }[]
  onClose: () => void
  children?: ReactNode
}

export const SecretSheet = ({ title, secret, examples, onClose, children }: SecretSheetProps) => {
  const texts = useTexts(secretTexts)
  const [isSaved, setSaved] = useState(false)
  const [chosen, setChosen] = useState(examples[0]?.name ?? '')
  useEffect(() => {
    if (isSaved) return undefined
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isSaved])
  const example = examples.find(({ name }) => name === chosen)
  return (
    <Sheet
      title={title}
      isOpen
      isKept
      onClose={onClose}
      footer={
        <div className={styles['footer']}>
          <CheckboxField isSelected={isSaved} onChange={setSaved}>
            {texts.saved}
          </CheckboxField>
          <Button variant="primary" isDisabled={!isSaved} onPress={onClose}>
            {texts.done}
          </Button>
        </div>
      }
    >
      <Note kind="warning">
        <strong>{texts.once}</strong> {texts.kept}
      </Note>
      <div>
        <span className={styles['label']}>{texts.secret}</span>
        <div className={styles['secret']}>
          <code>{secret}</code>
          <CopyButton value={secret} name={texts.secret}>
            {texts.copy}
          </CopyButton>
        </div>
      </div>
      {example !== undefined && (
        <div className="stack small">
          <div>
            <Segmented
              label={texts.form}
              options={examples.map(({ name }) => ({ value: name, label: name }))}
              value={chosen}
              onChange={setChosen}
            />
          </div>
          <Code text={example.text} name={example.name} />
        </div>
      )}
      {children}
    </Sheet>
  )
}
