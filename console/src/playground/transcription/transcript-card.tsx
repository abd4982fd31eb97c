/** The transcript as segments that can be heard, and in every format. */
import type { Transcription } from '@kinora/client'
import { Download } from 'lucide-react'
import { Fragment, useEffect, useRef, useState, type KeyboardEvent } from 'react'

import { formatPercent } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Segmented } from '../../ui/choice.tsx'
import { CopyButton } from '../../ui/values.tsx'
import { formatPosition } from '../audio/format-position.ts'
import type { Sound } from '../audio/sound.ts'
import { usePosition } from '../audio/use-sound.ts'
import { transcriptionTexts } from './texts.ts'
import {
  fileEndings,
  readConfidence,
  sureFrom,
  textFormats,
  writeTranscript,
  type TextFormat,
} from './transcript-formats.ts'

import styles from './run-view.module.css'

export type TranscriptSegment = NonNullable<Transcription['segments']>[number]
type Word = NonNullable<Transcription['words']>[number]

/** `j` and `k`, or the arrows, lead from line to line. */
const moveByKey = (event: KeyboardEvent<HTMLElement>) => {
  const steps: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }
  const step = steps[event.key]
  if (step === undefined || !(event.target instanceof HTMLElement)) return
  const lines = [...event.currentTarget.querySelectorAll('button')]
  const at = lines.findIndex((line) => line === event.target)
  const next = lines[at + step]
  if (next === undefined) return
  event.preventDefault()
  event.stopPropagation()
  next.focus()
}

const Words = ({ words, positionS }: { words: Word[]; positionS: number }) =>
  words.map(({ word, start, end }, index) => (
    <Fragment key={index}>
      {index > 0 && ' '}
      {start <= positionS && positionS < end ? <mark>{word.trim()}</mark> : word.trim()}
    </Fragment>
  ))

interface SegmentListProps {
  segments: TranscriptSegment[]
  words: Word[]
  sound: Sound | undefined
}

const SegmentList = ({ segments, words, sound }: SegmentListProps) => {
  const texts = useTexts(transcriptionTexts)
  const positionS = usePosition(sound)
  const list = useRef<HTMLOListElement>(null)
  const current = positionS === 0 ? -1 : segments.findLastIndex(({ start }) => start <= positionS + 0.01)
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' })
  }, [current])
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- for the keys of the buttons inside
    <ol className={styles['lines']} aria-label={texts.lines} ref={list} onKeyDown={moveByKey}>
      {segments.map((segment, index) => {
        const confidence = readConfidence(segment)
        const own = words.filter(
          ({ start }) =>
            start >= segment.start - 0.01 && start < (segments[index + 1]?.start ?? Infinity) - 0.01,
        )
        return (
          <li key={segment.id}>
            <button
              type="button"
              className={styles['line']}
              data-unsure={confidence < sureFrom || undefined}
              aria-current={index === current || undefined}
              onClick={() => {
                sound?.seek(segment.start)
                sound?.play()
              }}
            >
              <span className="mono muted">{formatPosition(segment.start)}</span>
              <span className={styles['words']}>
                {index === current && own.length > 0 ? (
                  <Words words={own} positionS={positionS} />
                ) : (
                  segment.text.trim()
                )}
              </span>
              {confidence < sureFrom && (
                <span className="fair tiny-text nowrap">{texts.unsure(formatPercent(confidence))}</span>
              )}
            </button>
          </li>
        )
      })}
    </ol>
  )
}

/** Saves a text as a file. */
const saveText = (text: string, name: string, type: string) => {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

interface TranscriptCardProps {
  result: Transcription
  sound: Sound | undefined
  /** Name of the recording, for the names of downloads. */
  name: string
}

export const TranscriptCard = ({ result, sound, name }: TranscriptCardProps) => {
  const texts = useTexts(transcriptionTexts)
  const segments = result.segments ?? []
  const [chosen, setChosen] = useState<TextFormat | 'segments'>(segments.length > 0 ? 'segments' : 'text')
  const format = chosen === 'segments' ? 'text' : chosen
  const possible = textFormats.filter((each) => writeTranscript(result, each) !== undefined)
  const text = writeTranscript(result, format) ?? ''
  const label = (each: TextFormat) => (each === 'text' ? texts.text : each)
  return (
    <Card isFlush aria-label={texts.format}>
      <div className={styles['tools']}>
        <div className={styles['formats']}>
          <Segmented
            label={texts.format}
            options={[
              ...(segments.length > 0 ? [{ value: 'segments' as const, label: texts.segments }] : []),
              ...possible.map((each) => ({ value: each, label: label(each) })),
            ]}
            value={chosen}
            onChange={setChosen}
          />
        </div>
        <div className="row">
          <CopyButton value={text} name={label(format)} />
          <Button
            size="small"
            icon={<Download />}
            label={texts.download(fileEndings[format])}
            onPress={() =>
              saveText(
                text,
                `${name.replace(/\.\w+$/, '')}.${fileEndings[format]}`,
                format.includes('json') ? 'application/json' : 'text/plain',
              )
            }
          >
            {fileEndings[format]}
          </Button>
        </div>
      </div>
      {result.text.trim() === '' && <p className={`${styles['plain']} muted`}>{texts.noText}</p>}
      {chosen === 'segments' ? (
        <>
          <SegmentList segments={segments} words={result.words ?? []} sound={sound} />
          {segments.some((segment) => readConfidence(segment) < sureFrom) && (
            <p className={`${styles['tools']} muted small-text`}>
              <span className={styles['legend']}>
                <i aria-hidden />
                {texts.legend(formatPercent(sureFrom))}
              </span>
            </p>
          )}
        </>
      ) : (
        <pre
          className={styles['plain']}
          data-prose={format === 'text' || undefined}
          // Long text is scrolled, also by keyboard.
          tabIndex={0}
          role="region"
          aria-label={label(format)}
        >
          {text}
        </pre>
      )}
    </Card>
  )
}
