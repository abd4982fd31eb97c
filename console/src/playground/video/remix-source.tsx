/** The video that a remix is made from. */
import type { Video } from '@kinora/client'
import { useNavigate } from '@tanstack/react-router'
import { X } from 'lucide-react'

import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { contentUrl } from './runs/runs.ts'
import { videoTexts } from './texts.ts'

import styles from './video-form.module.css'

export const RemixSource = ({ source }: { source: Video }) => {
  const texts = useTexts(videoTexts)
  const navigate = useNavigate()
  return (
    <div className={styles['source']}>
      <img src={contentUrl(source.id, 'thumbnail')} alt="" />
      <div className="stack small grow">
        <p className="medium">{texts.remixOf(source.enhanced_prompt)}</p>
        <p className="muted small-text">
          {source.model} · {texts.secondsText(source.seconds)}. {texts.remixHelp}
        </p>
        <div>
          <Button
            size="small"
            icon={<X />}
            onPress={() => void navigate({ to: '/playground/video', search: {} })}
          >
            {texts.leaveRemix}
          </Button>
        </div>
      </div>
    </div>
  )
}
