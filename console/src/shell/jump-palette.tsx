/** Opens a screen, or the task, request, key or model with an id. */
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Autocomplete } from 'react-aria-components/Autocomplete'
import { Dialog } from 'react-aria-components/Dialog'
import { Input } from 'react-aria-components/Input'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { SearchField } from 'react-aria-components/SearchField'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import type { Session } from '../session/session.ts'
import { findTargets } from './find-targets.ts'
import { visibleScreens } from './navigation.ts'

import styles from './jump-palette.module.css'

interface Target {
  id: string
  label: string
  to: string
}

export const JumpPalette = ({ session, onClose }: { session: Session; onClose: () => void }) => {
  const texts = useTexts(commonTexts)
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const words = typed.trim().toLowerCase()
  const screens: Target[] = visibleScreens(session)
    .map(({ page, to }) => ({ id: page, label: texts.pages[page], to }))
    .filter(({ label, id }) => label.toLowerCase().includes(words) || id.includes(words))
  const targets = [...findTargets(typed.trim(), session, texts), ...screens]
  return (
    <ModalOverlay className={styles['scrim'] ?? ''} isOpen onOpenChange={onClose} isDismissable>
      <Modal className={styles['palette'] ?? ''}>
        <Dialog aria-label={texts.jump} className={styles['dialog'] ?? ''}>
          <Autocomplete inputValue={typed} onInputChange={setTyped}>
            <SearchField autoFocus aria-label={texts.jump}>
              <Input className={styles['input'] ?? ''} placeholder={texts.jump} />
            </SearchField>
            <ListBox
              aria-label={texts.jump}
              items={targets}
              className={styles['list'] ?? ''}
              onAction={(id) => {
                const target = targets.find((each) => each.id === id)
                onClose()
                if (target !== undefined) void navigate({ href: target.to })
              }}
            >
              {(target) => (
                <ListBoxItem id={target.id} textValue={target.label} className={styles['item'] ?? ''}>
                  {target.label}
                </ListBoxItem>
              )}
            </ListBox>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
