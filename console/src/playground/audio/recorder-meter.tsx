/** What is shown while the microphone records. */
import { Square } from 'lucide-react'

import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Bar } from '../../ui/status.tsx'
import { formatPosition } from './format-position.ts'
import type { Recorder } from './recorder.ts'
import { audioTexts } from './texts.ts'

import styles from './recorder-meter.module.css'

export const RecorderMeter = ({ recorder }: { recorder: Recorder }) => {
  const texts = useTexts(audioTexts)
  return (
    <div className={styles['meter']}>
      <span className={styles['dot']} aria-hidden />
      <div className="grow stack small">
        <span className="medium">{texts.recording(formatPosition(recorder.elapsedS, false))}</span>
        <Bar share={recorder.level} label={texts.level} color={recorder.level > 0.97 ? 'red' : 'green'} />
      </div>
      <Button size="small" variant="ghost" onPress={recorder.discard}>
        {texts.discard}
      </Button>
      <Button size="small" variant="primary" icon={<Square />} onPress={recorder.stop}>
        {texts.stopRecording}
      </Button>
    </div>
  )
}
