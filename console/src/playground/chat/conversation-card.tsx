/** The turns, and where the next one is typed or recorded. */
import { Mic, Send } from 'lucide-react'
import { useEffect, useRef, useState, type KeyboardEvent } from 'react'

import { recordingBytesMax } from '../../generated/audio-limits.ts'
import { formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { EmptyState, Note } from '../../ui/feedback.tsx'
import { TextField } from '../../ui/field.tsx'
import { FailureNote } from '../audio/failure-note.tsx'
import { formatPosition } from '../audio/format-position.ts'
import { PlayButton } from '../audio/play-button.tsx'
import { RecorderMeter } from '../audio/recorder-meter.tsx'
import { useRecorder } from '../audio/recorder.ts'
import { audioTexts } from '../audio/texts.ts'
import { useSound } from '../audio/use-sound.ts'
import { Waveform } from '../audio/waveform.tsx'
import {
  hasExpiredAudio,
  retryReply,
  sendTurn,
  stopReply,
  type ChatFields,
  type Turn,
} from './conversation.ts'
import { chatTexts } from './texts.ts'

import styles from './conversation-card.module.css'

const TurnSound = ({ turn: { sound, role }, place }: { turn: Turn; place: number }) => {
  const texts = useTexts(chatTexts)
  const { durationS } = useSound(sound)
  return (
    <div className={styles['sound']}>
      <PlayButton sound={sound} name={role === 'user' ? texts.yourRecording : texts.itsReply} />
      <Waveform isSmall sound={sound} label={texts.positionIn(String(place))} />
      <span className="muted small-text">{formatPosition(durationS, false)}</span>
    </div>
  )
}

interface TurnViewProps {
  turn: Turn
  place: number
  form: ChatFields
  onWriteInstead: () => void
}

const TurnView = ({ turn, place, form, onWriteInstead }: TurnViewProps) => {
  const texts = useTexts(chatTexts)
  return (
    <li className={styles['turn']} data-role={turn.role}>
      <p className="muted small-text">
        {turn.role === 'user' ? texts.you : texts.model}
        {turn.usage !== undefined && ` · ${texts.tokens(formatNumber(turn.usage.total_tokens))}`}
      </p>
      {turn.sound !== undefined && <TurnSound turn={turn} place={place} />}
      {turn.text !== '' && <p className={styles['text']}>{turn.text}</p>}
      {turn.role === 'user' && turn.text === '' && <p className="muted">{texts.spokenMessage}</p>}
      {turn.state === 'waiting' && turn.text === '' && (
        <p className="muted">
          {texts.waiting}
          {form.reply === 'spoken' && <> {texts.waitingNote}</>}
        </p>
      )}
      {turn.state === 'stopped' && (
        <div className="row wrap">
          <span className="muted">{texts.stopped}</span>
          <Button size="small" onPress={() => void retryReply(form)}>
            {texts.retry}
          </Button>
        </div>
      )}
      {turn.state === 'failed' && (
        <FailureNote error={turn.error} onRetry={() => void retryReply(form)}>
          <Button
            size="small"
            onPress={() => {
              onWriteInstead()
              void retryReply({ ...form, reply: 'written' })
            }}
          >
            {texts.writeInstead}
          </Button>
        </FailureNote>
      )}
    </li>
  )
}

interface ConversationCardProps {
  form: ChatFields
  turns: Turn[]
  text: string
  setText: (text: string) => void
  onWriteInstead: () => void
}

export const ConversationCard = ({ form, turns, text, setText, onWriteInstead }: ConversationCardProps) => {
  const texts = useTexts(chatTexts)
  const audio = useTexts(audioTexts)
  const [isUnreadable, setUnreadable] = useState(false)
  const list = useRef<HTMLOListElement>(null)
  const isWaiting = turns.at(-1)?.state === 'waiting'
  const send = (recorded?: Blob) => {
    setUnreadable(false)
    setText('')
    sendTurn(form, text.trim(), recorded).catch(() => setUnreadable(true))
  }
  const recorder = useRecorder(recordingBytesMax, send)
  useEffect(() => {
    // Each change of the turns, such as a longer reply, may move the end out of view.
    if (turns.length > 0) list.current?.scrollTo({ top: list.current.scrollHeight })
  }, [turns])
  const canSend = !isWaiting && text.trim() !== ''
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (canSend) send()
  }
  return (
    <Card title={texts.conversation} isFlush>
      {turns.length === 0 ? (
        <EmptyState title={texts.empty.title}>{texts.empty.text}</EmptyState>
      ) : (
        <ol className={styles['turns']} ref={list} aria-label={texts.conversation}>
          {turns.map((turn, index) => (
            <TurnView key={turn.id} place={index + 1} {...{ turn, form, onWriteInstead }} />
          ))}
        </ol>
      )}
      <div className={styles['next']}>
        {hasExpiredAudio(turns) && <Note kind="plain">{texts.expired}</Note>}
        {isUnreadable && (
          <Note kind="danger" role="alert">
            {texts.unreadable}
          </Note>
        )}
        {recorder.problem !== undefined && (
          <Note kind="warning" role="alert">
            {audio.microphone[recorder.problem]}
          </Note>
        )}
        {recorder.isRecording ? (
          <RecorderMeter recorder={recorder} />
        ) : (
          // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- for the keys of the field inside
          <div className={styles['line']} onKeyDown={sendByKey}>
            <div className="grow">
              <TextField
                isHiddenLabel
                isMultiline
                rows={2}
                label={texts.message}
                placeholder={texts.messageHint}
                value={text}
                onChange={setText}
              />
            </div>
            <Button
              isIcon
              icon={<Mic />}
              label={texts.record}
              isDisabled={isWaiting}
              isBusy={recorder.isAsking}
              onPress={recorder.start}
            />
            {isWaiting ? (
              <Button onPress={stopReply}>{texts.stop}</Button>
            ) : (
              <Button variant="primary" icon={<Send />} isDisabled={!canSend} onPress={() => send()}>
                {texts.send}
              </Button>
            )}
          </div>
        )}
      </div>
    </Card>
  )
}
