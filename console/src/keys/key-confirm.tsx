/** Asks before a key stops working. */
import { useMutation } from '@tanstack/react-query'

import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { Note } from '../ui/feedback.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { deleteKey, keysKey, updateKey, type Key, type Manager } from './key-access.ts'
import { keyTexts } from './texts.ts'

/** Whether the session stands for the key. */
export const isOfSession = ({ id }: Key, { session }: Manager): boolean =>
  id === session.key?.id || id === session.operator?.id

interface KeyConfirmProps {
  keyRow: Key
  action: 'disable' | 'remove'
  manager: Manager
  onDone: () => void
  onClose: () => void
}

export const KeyConfirm = ({ keyRow, action, manager, onDone, onClose }: KeyConfirmProps) => {
  const all = useTexts(keyTexts)
  const texts = all[action]
  const name = keyRow.name || all.unnamed
  const change = useMutation({
    mutationFn: async () => {
      if (action === 'remove') await deleteKey(manager, keyRow.id)
      else await updateKey(manager, keyRow.id, { disabled: true })
    },
    onSuccess: () => {
      showToast(texts.done(name))
      onDone()
      void queryClient.invalidateQueries({ queryKey: keysKey })
    },
  })
  return (
    <Confirm
      question={texts.question(name)}
      action={texts.action(name)}
      isOpen
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <p className="soft">{texts.detail}</p>
      {isOfSession(keyRow, manager) && <Note kind="warning">{all.ownKey}</Note>}
    </Confirm>
  )
}
