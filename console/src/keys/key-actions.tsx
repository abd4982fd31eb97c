/** The sheets and questions of the actions on keys. One is open at a time. */
import { useState, type ReactNode } from 'react'

import { useReasons } from '../errors/use-reasons.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { showToast } from '../ui/toast.tsx'
import { keysKey, updateKey, type Key, type Manager } from './key-access.ts'
import { KeyConfirm } from './key-confirm.tsx'
import type { KeyAction } from './key-list.tsx'
import { KeySecret, type IssuedSecret } from './key-secret.tsx'
import { KeySheet } from './key-sheet.tsx'
import { RotateSheet } from './rotate-sheet.tsx'
import { keyTexts } from './texts.ts'

interface Settings {
  manager: Manager
  /** A sheet for a new key. */
  isCreating?: boolean
  accountId?: string | undefined
  onCreateEnd?: () => void
  onRemoved?: () => void
}

export const useKeyDialogs = ({
  manager,
  isCreating = false,
  accountId,
  onCreateEnd,
  onRemoved,
}: Settings): { start: (action: KeyAction, key: Key) => void; dialogs: ReactNode } => {
  const texts = useTexts(keyTexts)
  const reasons = useReasons()
  const [current, setCurrent] = useState<{ action: KeyAction; key: Key }>()
  const [issued, setIssued] = useState<IssuedSecret>()
  const close = () => setCurrent(undefined)
  const enable = async (key: Key) => {
    try {
      await updateKey(manager, key.id, { disabled: false })
      showToast(texts.enable.done(key.name || texts.unnamed))
      await queryClient.invalidateQueries({ queryKey: keysKey })
    } catch (error) {
      showToast(reasons.ofError(error).message)
    }
  }
  const start = (action: KeyAction, key: Key) => {
    if (action === 'enable') void enable(key)
    else setCurrent({ action, key })
  }
  const issue = (isRotated: boolean) => (key: Key, secret: string) => {
    setIssued({ key, secret, isRotated })
    close()
    if (!isRotated) onCreateEnd?.()
  }
  if (issued !== undefined)
    return {
      start,
      dialogs: <KeySecret issued={issued} manager={manager} onClose={() => setIssued(undefined)} />,
    }
  if (isCreating)
    return {
      start,
      dialogs: (
        <KeySheet
          manager={manager}
          {...(accountId !== undefined && { accountId })}
          onCreated={issue(false)}
          onClose={() => onCreateEnd?.()}
        />
      ),
    }
  if (current === undefined) return { start, dialogs: null }
  const { action, key } = current
  const shared = { manager, onClose: close }
  if (action === 'edit') return { start, dialogs: <KeySheet {...shared} present={key} /> }
  if (action === 'rotate')
    return { start, dialogs: <RotateSheet {...shared} keyRow={key} onRotated={issue(true)} /> }
  if (action === 'enable') return { start, dialogs: null }
  const onDone = () => {
    close()
    if (action === 'remove') onRemoved?.()
  }
  return { start, dialogs: <KeyConfirm {...shared} keyRow={key} action={action} onDone={onDone} /> }
}
