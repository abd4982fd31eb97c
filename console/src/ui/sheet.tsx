/** What opens above the page: a sheet for creating, and a question before something is destroyed. */
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Dialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from './button.tsx'
import { ErrorPanel } from './feedback.tsx'

import styles from './sheet.module.css'

interface SheetProps {
  title: ReactNode
  isOpen: boolean
  onClose: () => void
  /** Escape and a click beside it do not close it, so that nothing is lost. */
  isKept?: boolean
  footer?: ReactNode
  children: ReactNode
}

export const Sheet = ({ title, isOpen, onClose, isKept = false, footer, children }: SheetProps) => {
  const texts = useTexts(commonTexts)
  return (
    <ModalOverlay
      className={styles['scrim'] ?? ''}
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable={!isKept}
      isKeyboardDismissDisabled={isKept}
    >
      <Modal className={styles['sheet'] ?? ''}>
        <Dialog className={styles['dialog'] ?? ''}>
          <header className={styles['header']}>
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            {!isKept && <Button variant="ghost" isIcon icon={<X />} label={texts.close} onPress={onClose} />}
          </header>
          <div className={styles['inside']}>{children}</div>
          {footer !== undefined && <footer className={styles['footer']}>{footer}</footer>}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

interface ConfirmProps {
  /** Names the object: "Disable the key mobile-app?" */
  question: ReactNode
  /** What will happen. */
  children?: ReactNode
  /** Repeats the verb: "Disable mobile-app". */
  action: string
  isOpen: boolean
  isBusy?: boolean
  isDangerous?: boolean
  error?: unknown
  onConfirm: () => void
  onClose: () => void
}

export const Confirm = ({
  question,
  children,
  action,
  isOpen,
  isBusy = false,
  isDangerous = true,
  error,
  onConfirm,
  onClose,
}: ConfirmProps) => {
  const texts = useTexts(commonTexts)
  return (
    <ModalOverlay
      className={styles['scrim'] ?? ''}
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable
    >
      <Modal className={styles['confirm'] ?? ''}>
        <Dialog role="alertdialog" className={styles['dialog'] ?? ''}>
          <div className={styles['inside']}>
            <Heading slot="title" level={2}>
              {question}
            </Heading>
            {children}
            {error !== undefined && error !== null && <ErrorPanel error={error} />}
          </div>
          <footer className={styles['footer']}>
            <Button onPress={onClose}>{texts.cancel}</Button>
            <Button variant={isDangerous ? 'dangerPrimary' : 'primary'} isBusy={isBusy} onPress={onConfirm}>
              {action}
            </Button>
          </footer>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
