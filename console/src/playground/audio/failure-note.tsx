/** Why a request was refused. A subscription key gets the way out too. */
import { isKinoraError } from '@kinora/client'

import { useTexts } from '../../i18n/texts.ts'
import { signOut } from '../../session/session.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorPanel, Note } from '../../ui/feedback.tsx'
import { audioTexts } from './texts.ts'

const needsPayg = (error: unknown): boolean => isKinoraError(error) && error.code === 'audio_requires_payg'

interface FailureNoteProps {
  error: unknown
  onRetry?: () => void
  /** Another way out of a subscription key. */
  children?: React.ReactNode
}

export const FailureNote = ({ error, onRetry, children }: FailureNoteProps) => {
  const texts = useTexts(audioTexts)
  if (!needsPayg(error)) return <ErrorPanel error={error} {...(onRetry !== undefined && { onRetry })} />
  return (
    <Note kind="warning" role="alert">
      <div className="stack small">
        <p className="medium">{texts.payg.title}</p>
        <p>{texts.payg.text}</p>
        <div className="row wrap">
          <Button size="small" onPress={() => void signOut()}>
            {texts.payg.action}
          </Button>
          {children}
        </div>
      </div>
    </Note>
  )
}
