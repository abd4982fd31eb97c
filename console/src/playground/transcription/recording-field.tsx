/** The recording: a file that is dropped or chosen, or the microphone. Its size is checked before it is sent. */
import { AudioLines, Mic, Upload, X } from 'lucide-react'
import { useState } from 'react'
import { Button as AriaButton } from 'react-aria-components/Button'
import { DropZone } from 'react-aria-components/DropZone'
import { FileTrigger } from 'react-aria-components/FileTrigger'

import { recordingBytesMax, taskRecordingBytesMax } from '../../generated/audio-limits.ts'
import { formatBytes, formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Note } from '../../ui/feedback.tsx'
import { Bar } from '../../ui/status.tsx'
import { RecorderMeter } from '../audio/recorder-meter.tsx'
import { useRecorder } from '../audio/recorder.ts'
import { audioTexts } from '../audio/texts.ts'
import { transcriptionTexts } from './texts.ts'

import styles from './recording-field.module.css'

/** Limits are powers of two, but are called 25 MB and 1 GB. */
const formatLimit = (bytes: number): string =>
  bytes < 2 ** 30 ? `${formatNumber(bytes / 2 ** 20)} MB` : `${formatNumber(bytes / 2 ** 30)} GB`

interface RecordingFieldProps {
  file: File | undefined
  onChange: (file: File | undefined) => void
}

export const RecordingField = ({ file, onChange }: RecordingFieldProps) => {
  const texts = useTexts(transcriptionTexts)
  const audio = useTexts(audioTexts)
  const [refused, setRefused] = useState<string>()
  const [direct, most] = [formatLimit(recordingBytesMax), formatLimit(taskRecordingBytesMax)]
  const choose = (chosen: File | undefined) => {
    if (chosen === undefined) return
    setRefused(chosen.size > taskRecordingBytesMax ? texts.tooLarge(chosen.name, most) : undefined)
    if (chosen.size <= taskRecordingBytesMax) onChange(chosen)
  }
  const recorder = useRecorder(recordingBytesMax, choose)
  const limit =
    file !== undefined && file.size > recordingBytesMax ? taskRecordingBytesMax : recordingBytesMax
  return (
    <div className="stack small">
      <div className={styles['head']}>
        <span>{texts.recording}</span>
        <span className="muted small-text">{texts.limits(direct, most)}</span>
      </div>
      {recorder.isRecording ? (
        <RecorderMeter recorder={recorder} />
      ) : (
        <div className={styles['ways']}>
          <DropZone
            className={styles['drop'] ?? ''}
            aria-label={texts.drop}
            onDrop={({ items }) => {
              const dropped = items.find((item) => item.kind === 'file')
              void dropped?.getFile().then(choose)
            }}
          >
            <FileTrigger
              acceptedFileTypes={['audio/*', 'video/mp4', 'video/webm', '.mp3', '.m4a', '.flac', '.ogg']}
              onSelect={(files) => choose(files?.[0])}
            >
              <AriaButton className={styles['way'] ?? ''}>
                <Upload aria-hidden />
                <span className="medium">{texts.drop}</span>
                <span className="muted tiny-text">{texts.dropTypes}</span>
              </AriaButton>
            </FileTrigger>
          </DropZone>
          <AriaButton
            className={`${styles['way']} ${styles['record']}`}
            onPress={recorder.start}
            isPending={recorder.isAsking}
          >
            <Mic aria-hidden />
            <span className="medium">{texts.record}</span>
            <span className="muted tiny-text">{texts.recordNote}</span>
          </AriaButton>
        </div>
      )}
      {file !== undefined && !recorder.isRecording && (
        <div className={styles['file']} role="group" aria-label={texts.chosen}>
          <AudioLines aria-hidden />
          <div className="grow stack small">
            <div className="row between">
              <span className="medium ellipsis" title={file.name}>
                {file.name}
              </span>
              <span className="muted small-text nowrap">
                {texts.sizeOf(formatBytes(file.size), formatLimit(limit))}
              </span>
            </div>
            <Bar
              share={file.size / limit}
              label={texts.sizeOf(formatBytes(file.size), formatLimit(limit))}
              color="grey"
            />
          </div>
          <Button
            variant="ghost"
            size="small"
            isIcon
            icon={<X />}
            label={texts.remove(file.name)}
            onPress={() => onChange(undefined)}
          />
        </div>
      )}
      {file !== undefined && file.size > recordingBytesMax && (
        <Note kind="plain">{texts.asTask(direct)}</Note>
      )}
      {refused !== undefined && (
        <Note kind="danger" role="alert">
          {refused}
        </Note>
      )}
      {recorder.problem !== undefined && (
        <Note kind="warning" role="alert">
          {audio.microphone[recorder.problem]}
        </Note>
      )}
    </div>
  )
}
