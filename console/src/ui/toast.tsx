/** Short messages about what happened elsewhere. At most two, six seconds each. */
import { X } from 'lucide-react'
import {
  UNSTABLE_Toast as AriaToast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components/Toast'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from './button.tsx'

import styles from './toast.module.css'

const queue = new ToastQueue<string>({ maxVisibleToasts: 2 })

export const showToast = (text: string): void => {
  queue.add(text, { timeout: 6_000 })
}

export const Toasts = () => {
  const texts = useTexts(commonTexts)
  return (
    <ToastRegion queue={queue} className={styles['region'] ?? ''}>
      {({ toast }) => (
        <AriaToast toast={toast} className={styles['toast'] ?? ''}>
          <ToastContent className="grow">{toast.content}</ToastContent>
          <Button variant="ghost" size="small" isIcon icon={<X />} label={texts.dismiss} slot="close" />
        </AriaToast>
      )}
    </ToastRegion>
  )
}
