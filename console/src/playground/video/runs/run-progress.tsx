/** A video in the making: its step, place in the queue and time left. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

import { useReasons } from '../../../errors/use-reasons.ts'
import { formatDuration, formatMoney } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { queryClient } from '../../../queries.ts'
import { kinora } from '../../../service.ts'
import { Button } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/sheet.tsx'
import { videoTexts, type VideoTexts } from '../texts.ts'
import { readSize, timelineQuery, type Run } from './runs.ts'

import styles from './run-progress.module.css'

const steps = ['accepted', 'queued', 'generating', 'copying'] as const
type Step = (typeof steps)[number]

const useNow = (): number => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** The provider has made the video, and the service stores it. */
const useStep = ({ id, status, progress }: Run): Step => {
  const isGenerating = status === 'processing' || status === 'in_progress'
  const { data } = useQuery({
    ...timelineQuery(id, status),
    enabled: isGenerating && progress >= 90,
    refetchInterval: 2_000,
  })
  if (!isGenerating) return 'queued'
  return data?.steps.some(({ kind }) => kind === 'store') === true || progress >= 100
    ? 'copying'
    : 'generating'
}

/** What is known about the end. */
const describeEnd = ({ details, status, progress }: Run, texts: VideoTexts): string => {
  const { queue_position: place, time_left_seconds: left } = details ?? {}
  if (place !== undefined) return texts.place(place.min, place.max)
  if (left !== undefined)
    return texts.timeLeft(
      formatDuration(Math.max(1, left.min) * 1_000),
      formatDuration(Math.max(1, left.max) * 1_000),
    )
  return status === 'pending' || status === 'queued' ? texts.place(0, 0) : texts.noEstimate(progress)
}

const StepBar = ({ step, progress }: { step: Step; progress: number }) => {
  const texts = useTexts(videoTexts)
  const at = steps.indexOf(step)
  return (
    <ol className={styles['steps']} aria-label={texts.stepOf(texts.steps[step])}>
      {steps.map((name, index) => (
        <li key={name} {...(index === at && { 'aria-current': 'step' })}>
          <span className={styles['track']}>
            <i
              data-is-done={index < at || undefined}
              style={{
                width:
                  index < at ? '100%' : index > at ? '0' : name === 'generating' ? `${progress}%` : '50%',
              }}
            />
          </span>
          {texts.steps[name]}
        </li>
      ))}
    </ol>
  )
}

export const CancelButton = ({ run }: { run: Run }) => {
  const texts = useTexts(videoTexts)
  const [isAsking, setAsking] = useState(false)
  const cancel = useMutation({
    mutationFn: () => kinora.videos.cancel(run.id),
    onSuccess: async () => {
      setAsking(false)
      await queryClient.invalidateQueries({ queryKey: ['playground-runs'] })
      await queryClient.invalidateQueries({ queryKey: ['me'] })
    },
  })
  const held = run.details
  return (
    <>
      <Button size="small" onPress={() => setAsking(true)}>
        {texts.cancelRun}
      </Button>
      <Confirm
        question={texts.cancelTitle}
        action={texts.cancelAction}
        isOpen={isAsking}
        isBusy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
        onClose={() => setAsking(false)}
      >
        <p className="soft">
          {held === undefined
            ? texts.cancelEffectPlain
            : texts.cancelEffect(formatMoney(held.hold_micros, held.currency))}
        </p>
      </Confirm>
    </>
  )
}

/** The place of the video until there is one. */
export const Pending = ({ run }: { run: Run }) => {
  const { width, height } = readSize(run.size)
  const isWaiting = run.status === 'pending' || run.status === 'queued'
  const texts = useTexts(videoTexts)
  const place = run.details?.queue_position
  return (
    <div className={styles['pending']} style={{ aspectRatio: `${width} / ${height}` }}>
      <span>
        {isWaiting
          ? place === undefined
            ? texts.steps.queued
            : texts.place(place.min, place.max)
          : `${run.progress} %`}
      </span>
    </div>
  )
}

export const RunProgress = ({ run }: { run: Run }) => {
  const texts = useTexts(videoTexts)
  const reasons = useReasons()
  const now = useNow()
  const step = useStep(run)
  const { details } = run
  const facts = [
    run.model,
    texts.secondsText(run.seconds),
    run.size.replace('x', '×'),
    ...(details === undefined ? [] : [texts.held(formatMoney(details.hold_micros, details.currency))]),
  ]
  return (
    <li className={styles['run']}>
      <div className={styles['thumb']}>
        <Pending run={run} />
      </div>
      <div className={styles['text']}>
        <div className="row between">
          <p className="medium ellipsis">{details?.prompt ?? run.enhanced_prompt}</p>
          <CancelButton run={run} />
        </div>
        <p className="muted small-text">{facts.join(' · ')}</p>
        <StepBar step={step} progress={run.progress} />
        <div className="row between small-text">
          <span className="medium">{describeEnd(run, texts)}</span>
          <span className="row muted">
            {texts.soFar(formatDuration(Math.max(0, Math.round(now / 1_000) - run.created_at) * 1_000))}
            <Link to="/tasks/$id" params={{ id: run.id }} className="link">
              {texts.openTask}
            </Link>
          </span>
        </div>
        {run.notice !== undefined && <p className="fair small-text">{reasons.ofNotice(run.notice)}</p>}
      </div>
    </li>
  )
}
