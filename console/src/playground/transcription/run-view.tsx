/** A recording with its waveform, and its transcript. */
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { formatDuration, formatNumber, formatPercent } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { useFeed } from '../../live/feed.ts'
import { queryClient } from '../../queries.ts'
import { kinora } from '../../service.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Note, Skeleton } from '../../ui/feedback.tsx'
import { Bar, Status } from '../../ui/status.tsx'
import { FailureNote } from '../audio/failure-note.tsx'
import { formatPosition } from '../audio/format-position.ts'
import { PlayButton } from '../audio/play-button.tsx'
import { usePosition, useSound } from '../audio/use-sound.ts'
import { Waveform } from '../audio/waveform.tsx'
import type { Run } from './runs.ts'
import { SegmentBar } from './segment-bar.tsx'
import { transcriptionTexts } from './texts.ts'
import { TranscriptCard } from './transcript-card.tsx'

import styles from './run-view.module.css'

const isFinal = (status: string | undefined) => status === 'completed' || status === 'failed'

/** The state of the task, and its transcript when it is completed. */
const useTask = (id: string | undefined) => {
  const taskKey = ['transcription task', id]
  useFeed(({ type }) => {
    if (id !== undefined && type.startsWith('transcription_task.'))
      void queryClient.invalidateQueries({ queryKey: taskKey })
  })
  const task = useQuery({
    queryKey: taskKey,
    queryFn: () => kinora.transcriptionTasks.get(id ?? ''),
    enabled: id !== undefined,
    // Progress has no events.
    refetchInterval: ({ state: { data } }) => (isFinal(data?.status) ? false : 3_000),
  })
  const transcript = useQuery({
    queryKey: ['transcript', id],
    queryFn: () => kinora.transcriptionTasks.transcript(id ?? '', { response_format: 'verbose_json' }),
    enabled: id !== undefined && task.data?.status === 'completed',
    staleTime: Infinity,
  })
  return { task: task.data, error: task.error ?? transcript.error, result: transcript.data }
}

const RunStatus = ({ run, task }: { run: Run; task: ReturnType<typeof useTask>['task'] }) => {
  const texts = useTexts(transcriptionTexts)
  if (run.state === 'task' && task?.status !== 'completed') {
    const status = task?.status ?? 'pending'
    return <Status status={status} {...(task !== undefined && { progress: task.progress })} />
  }
  if (run.state === 'uploading')
    return <Status status="processing">{texts.state.uploading(formatPercent(run.sent))}</Status>
  if (run.state === 'working') return <Status status="processing">{texts.state.working}</Status>
  if (run.state === 'failed') return <Status status="failed">{texts.state.failed}</Status>
  if (run.state === 'stopped') return <Status status="queued">{texts.state.stopped}</Status>
  return <Status status="completed">{texts.state.done(formatDuration(run.tookMs ?? 0))}</Status>
}

export const RunView = ({ run }: { run: Run }) => {
  const texts = useTexts(transcriptionTexts)
  const reasons = useReasons()
  const { sound } = run
  useEffect(() => () => sound.pause(), [sound])
  const { durationS, peaks, isUnplayable } = useSound(sound)
  const position = usePosition(sound)
  const { task, error, result: taskResult } = useTask(run.taskId)
  const result = run.result ?? taskResult
  const failure: unknown = run.error ?? error ?? undefined
  const pace =
    run.state === 'done' && run.tookMs !== undefined && durationS > 0
      ? (durationS * 1_000) / run.tookMs
      : undefined
  const facts = [
    run.file.name,
    ...(result?.language === undefined ? [] : [result.language]),
    ...(pace === undefined || pace < 1 ? [] : [texts.faster(formatNumber(pace, pace < 10 ? 1 : 0))]),
  ]
  const isWaiting = run.state === 'working' || (run.state === 'task' && !isFinal(task?.status))
  return (
    <>
      <Card
        isFlush
        aria-label={texts.result}
        title={<RunStatus run={run} task={task} />}
        note={facts.join(' · ')}
        actions={
          run.taskId !== undefined && (
            <LinkButton size="small" to="/tasks/$id" params={{ id: run.taskId }}>
              {texts.openTask}
            </LinkButton>
          )
        }
      >
        <div className={styles['sound']}>
          {failure !== undefined && <FailureNote error={failure} />}
          {task?.status === 'failed' && (
            <Note kind="danger" role="alert">
              {task.error != null && reasons.ofTask(task.error)}
            </Note>
          )}
          {run.state === 'uploading' && (
            <Bar share={run.sent} label={texts.state.uploading(formatPercent(run.sent))} />
          )}
          {(isUnplayable || (peaks === undefined && durationS > 7_200)) && (
            <p className="muted small-text">{texts.noPeaks}</p>
          )}
          <Waveform sound={sound} label={texts.waveform} />
          {result?.segments !== undefined && (
            <SegmentBar segments={result.segments} durationS={durationS} positionS={position} />
          )}
          <div className={styles['controls']}>
            <PlayButton sound={sound} name={texts.theRecording} />
            <span>
              {formatPosition(position)} <span className="muted">/ {formatPosition(durationS, false)}</span>
            </span>
            {(result?.segments?.length ?? 0) > 0 && (
              <span className={`${styles['hint']} muted`}>{texts.click}</span>
            )}
          </div>
        </div>
      </Card>
      {result !== undefined && <TranscriptCard result={result} sound={sound} name={run.file.name} />}
      {result === undefined && run.text !== '' && (
        <Card title={texts.text}>
          <p className={styles['text']} aria-live="polite">
            {run.text}
          </p>
        </Card>
      )}
      {result === undefined && run.text === '' && isWaiting && <Skeleton height={220} />}
    </>
  )
}
