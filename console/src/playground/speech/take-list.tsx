import { Download, X } from 'lucide-react'

import { formatDuration } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { AnchorButton, Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { formatPosition } from '../audio/format-position.ts'
import { PlayButton } from '../audio/play-button.tsx'
import { useSound } from '../audio/use-sound.ts'
import { Waveform } from '../audio/waveform.tsx'
import { isRunning, removeTake, type Take } from './takes.ts'
import { speechTexts } from './texts.ts'

import styles from './take.module.css'

const TakeRow = ({ take }: { take: Take }) => {
  const texts = useTexts(speechTexts)
  const { durationS } = useSound(take.sound)
  const facts = [
    durationS > 0 ? formatPosition(durationS) : texts.state[take.state],
    ...(take.firstByteMs === undefined ? [] : [texts.firstByteIn(formatDuration(take.firstByteMs))]),
  ]
  return (
    <li className={styles['take']}>
      <PlayButton sound={take.sound} name={texts.takeOf(take.voice)} />
      <span className="stack">
        <span className="medium ellipsis">{take.voice}</span>
      </span>
      <Waveform isSmall sound={take.sound} label={texts.waveformOf(take.voice)} />
      <span className="muted small-text nowrap wide-only">{facts.join(' · ')}</span>
      <span className="row">
        {take.file !== undefined && (
          <AnchorButton
            variant="ghost"
            size="small"
            isIcon
            icon={<Download />}
            href={take.file.url}
            download={`${take.voice}-${take.id}.${take.format}`}
            label={texts.download(take.voice)}
          />
        )}
        <Button
          variant="ghost"
          size="small"
          isIcon
          icon={<X />}
          label={texts.remove(take.voice)}
          isDisabled={isRunning(take)}
          onPress={() => removeTake(take.id)}
        />
      </span>
    </li>
  )
}

export const TakeList = ({ takes }: { takes: Take[] }) => {
  const texts = useTexts(speechTexts)
  return (
    <Card title={texts.takes} isFlush>
      <ul>
        {takes.map((take) => (
          <TakeRow key={take.id} take={take} />
        ))}
      </ul>
    </Card>
  )
}
