/** Gives a key a new secret. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { rotateKeyFields } from '../generated/key-and-webhook-fields.ts'
import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Note } from '../ui/feedback.tsx'
import { SelectField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { keysKey, rotateKey, type Key, type Manager } from './key-access.ts'
import { isOfSession } from './key-confirm.tsx'
import { keyTexts } from './texts.ts'

const overlaps = { now: 0, hour: 3_600, day: 86_400, week: 7 * 86_400, month: 30 * 86_400 }
type Overlap = keyof typeof overlaps

interface RotateSheetProps {
  keyRow: Key
  manager: Manager
  onRotated: (key: Key, secret: string) => void
  onClose: () => void
}

export const RotateSheet = ({ keyRow, manager, onRotated, onClose }: RotateSheetProps) => {
  const { rotate: texts, unnamed } = useTexts(keyTexts)
  const common = useTexts(commonTexts)
  const [overlap, setOverlap] = useState<Overlap>('day')
  const rotate = useMutation({
    mutationFn: () => rotateKey(manager, keyRow.id, overlaps[overlap]),
    onSuccess: ({ key, secret }) => {
      void queryClient.invalidateQueries({ queryKey: keysKey })
      onRotated(key, secret)
    },
  })
  const names = (Object.keys(overlaps) as Overlap[]).filter(
    (name) => overlaps[name] <= rotateKeyFields.overlap_seconds.maximum,
  )
  return (
    <Sheet
      title={texts.title(keyRow.name || unnamed)}
      isOpen
      onClose={onClose}
      isKept={rotate.isPending}
      footer={
        <>
          <Button onPress={onClose} isDisabled={rotate.isPending}>
            {common.cancel}
          </Button>
          <Button variant="primary" isBusy={rotate.isPending} onPress={() => rotate.mutate()}>
            {texts.submit}
          </Button>
        </>
      }
    >
      <p>{texts.intro}</p>
      <SelectField
        label={texts.overlap}
        options={names.map((name) => ({ value: name, label: texts.overlaps[name] }))}
        value={overlap}
        onChange={setOverlap}
      />
      {isOfSession(keyRow, manager) && <Note kind="warning">{texts.own}</Note>}
      {rotate.isError && <ErrorPanel error={rotate.error} />}
    </Sheet>
  )
}
