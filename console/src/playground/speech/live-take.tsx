/** The newest take: it plays while it arrives. */
import { Download } from 'lucide-react'

import { formatBytes, formatDuration, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { AnchorButton, Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Note } from '../../ui/feedback.tsx'
import { Status } from '../../ui/status.tsx'
import { Money } from '../../ui/values.tsx'
import { FailureNote } from '../audio/failure-note.tsx'
import { formatPosition } from '../audio/format-position.ts'
import { PlayButton } from '../audio/play-button.tsx'
import { usePosition, useSound } from '../audio/use-sound.ts'
import { Waveform } from '../audio/waveform.tsx'
import { isRunning, stopTake, type Take } from './takes.ts'
import { speechTexts } from './texts.ts'

import layout from '../audio/layout.module.css'
import styles from './take.module.css'

/** Speech has about this many characters per second; in Chinese and Japanese a few. */
const guessDuration = (text: string): number => {
  const wide = text.match(/[\u3040-\u9fff\uac00-\ud7af]/g)?.length ?? 0
  return wide / 4.5 + (text.length - wide) / 15
}

const statuses = {
  connecting: 'queued',
  streaming: 'processing',
  done: 'completed',
  stopped: 'queued',
  failed: 'failed',
} as const

const Position = ({ take: { sound, text } }: { take: Take }) => {
  const texts = useTexts(speechTexts)
  const position = usePosition(sound)
  const { durationS, isGrowing } = useSound(sound)
  return (
    <div className={styles['position']}>
      <span>{formatPosition(position)}</span>
      <span className="muted">{isGrowing && texts.received(formatPosition(durationS))}</span>
      <span className="muted">
        {isGrowing
          ? texts.about(formatPosition(Math.max(durationS, guessDuration(text)), false))
          : formatPosition(durationS)}
      </span>
    </div>
  )
}

const Figures = ({ take }: { take: Take }) => {
  const texts = useTexts(speechTexts)
  const { durationS } = useSound(take.sound)
  const pace = take.totalMs !== undefined && durationS > 0 ? (durationS * 1_000) / take.totalMs : undefined
  const inMs = (value: number | undefined) => (value === undefined ? '–' : formatDuration(value))
  const isCharged = take.bytes > 0 && take.state !== 'failed' && take.price !== undefined
  return (
    <dl className={layout['figures']}>
      <div>
        <dt>{texts.firstByte}</dt>
        <dd>{inMs(take.firstByteMs)}</dd>
      </div>
      <div>
        <dt>{texts.firstSound}</dt>
        <dd>{inMs(take.firstSoundMs)}</dd>
      </div>
      <div>
        <dt>{texts.pace}</dt>
        <dd>{pace === undefined ? '–' : `${formatNumber(pace, 1)}×`}</dd>
      </div>
      <div>
        <dt>{texts.size}</dt>
        <dd>{formatBytes(take.bytes)}</dd>
      </div>
      <div>
        <dt>{texts.price}</dt>
        <dd>{isCharged && take.price !== undefined ? <Money {...take.price} /> : '–'}</dd>
      </div>
    </dl>
  )
}

export const LiveTake = ({ take }: { take: Take }) => {
  const texts = useTexts(speechTexts)
  const { isUnplayable } = useSound(take.sound)
  return (
    <Card
      isFlush
      aria-label={texts.result}
      title={<Status status={statuses[take.state]}>{texts.state[take.state]}</Status>}
      note={
        <>
          <span className={styles['voice']}>{take.voice}</span>
          {isRunning(take) && <span className="wide-only">{texts.playsMeanwhile}</span>}
        </>
      }
      actions={
        isRunning(take) ? (
          <Button size="small" onPress={() => stopTake(take.id)}>
            {texts.stop}
          </Button>
        ) : (
          take.file !== undefined && (
            <AnchorButton
              size="small"
              icon={<Download />}
              href={take.file.url}
              download={`${take.voice}-${take.id}.${take.format}`}
              label={texts.download(take.voice)}
            >
              {take.format}
            </AnchorButton>
          )
        )
      }
    >
      <div className={styles['sound']}>
        {take.error !== undefined && <FailureNote error={take.error} />}
        {isUnplayable && take.bytes > 0 && <Note kind="plain">{texts.unplayable(take.format)}</Note>}
        {take.state === 'stopped' && take.bytes > 0 && <Note kind="plain">{texts.stoppedNote}</Note>}
        <div className={styles['player']}>
          <PlayButton sound={take.sound} name={texts.takeOf(take.voice)} />
          <Waveform
            sound={take.sound}
            expectedS={isRunning(take) ? guessDuration(take.text) : 0}
            label={texts.waveformOf(take.voice)}
          />
        </div>
        <Position take={take} />
      </div>
      <Figures take={take} />
    </Card>
  )
}
