/** A video that has ended: the player, or why there is none. */
import { useQuery } from '@tanstack/react-query'
import { ArrowRight, Download, ImageUp, RotateCw, Shuffle, X } from 'lucide-react'

import { useReasons } from '../../../errors/use-reasons.ts'
import { formatDuration, formatMoney } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { AnchorButton, Button, LinkButton } from '../../../ui/button.tsx'
import { Note, Skeleton } from '../../../ui/feedback.tsx'
import { Player } from '../../../ui/player.tsx'
import { Status } from '../../../ui/status.tsx'
import { videoTexts } from '../texts.ts'
import { contentUrl, readSize, removeRun, timelineQuery, type Run } from './runs.ts'

import styles from './run-result.module.css'

interface RunResultProps {
  run: Run
  /** Fills the form with the values of the video. */
  onEdit: (run: Run) => void
}

const Failure = ({ run, onEdit }: RunResultProps) => {
  const texts = useTexts(videoTexts)
  const reasons = useReasons()
  const { data, isPending } = useQuery(timelineQuery(run.id, run.status))
  const why = data?.explanation ?? undefined
  if (isPending) return <Skeleton height={88} />
  const charged = why ?? run.details
  const reason =
    why === undefined
      ? run.error && { message: reasons.ofTask(run.error), hint: undefined }
      : reasons.ofFailure(why, run.error?.code ?? 'upstream_error', data?.steps)
  const micros = why?.charged_micros ?? run.details?.captured_micros ?? 0
  return (
    <Note
      kind="danger"
      actions={
        <Button size="small" icon={<RotateCw />} onPress={() => onEdit(run)}>
          {texts.editForm}
        </Button>
      }
    >
      <p className="medium">{reason?.message ?? texts.failedTitle}</p>
      {reason?.hint !== undefined && <p>{reason.hint}</p>}
      <p className="small-text">
        {charged !== undefined && texts.failedPaid(formatMoney(micros, charged.currency))}{' '}
        {why?.is_repeat_safe === true && texts.repeatSafe}
      </p>
    </Note>
  )
}

export const RunResult = ({ run, onEdit }: RunResultProps) => {
  const texts = useTexts(videoTexts)
  const { details } = run
  const prompt = details?.prompt ?? run.enhanced_prompt
  const { width, height } = readSize(run.size)
  const isCompleted = run.status === 'completed'
  const endedAt = details?.completed_at ?? run.status_update_time
  const facts = [
    run.model,
    formatDuration(Math.max(0, endedAt - run.created_at) * 1_000),
    ...(details?.captured_micros == null
      ? []
      : [texts.paid(formatMoney(details.captured_micros, details.currency))]),
  ]
  return (
    <article className={styles['result']} aria-label={prompt}>
      <header className={styles['header']}>
        <Status status={run.status} />
        <p className="medium ellipsis grow">{prompt}</p>
        <span className="muted small-text nowrap wide-only">{facts.join(' · ')}</span>
        <Button
          variant="ghost"
          size="small"
          isIcon
          icon={<X />}
          label={texts.dismiss}
          onPress={() => removeRun(run.id)}
        />
      </header>
      <div className={styles['media']}>
        {isCompleted ? (
          <Player
            title={texts.playerTitle(prompt)}
            source={run.video_url ?? contentUrl(run.id)}
            poster={contentUrl(run.id, 'thumbnail')}
            {...{ width, height, seconds: run.seconds }}
          />
        ) : (
          <Failure run={run} onEdit={onEdit} />
        )}
      </div>
      <footer className={styles['footer']}>
        {isCompleted && (
          <>
            <AnchorButton
              href={run.video_url ?? contentUrl(run.id)}
              download={`${run.id.replaceAll(':', '-')}.mp4`}
              icon={<Download />}
            >
              {texts.download}
            </AnchorButton>
            <LinkButton to="/playground/video" search={{ remix: run.id }} icon={<Shuffle />}>
              {texts.remix}
            </LinkButton>
            <LinkButton to="/playground/video" search={{ from: run.id }} icon={<ImageUp />}>
              {texts.useAsReference}
            </LinkButton>
          </>
        )}
        <span className={styles['last']}>
          <LinkButton variant="ghost" to="/tasks/$id" params={{ id: run.id }}>
            {texts.openTask} <ArrowRight aria-hidden />
          </LinkButton>
        </span>
      </footer>
    </article>
  )
}
