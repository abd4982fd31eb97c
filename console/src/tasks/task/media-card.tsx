/** The result of the task, or how far it is. */
import { Clapperboard, Download, Eye, Link2 } from 'lucide-react'
import { useRef, useState, type ReactNode } from 'react'

import { formatDate, formatDuration, formatNumber, formatTime } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { hasRole, useSession } from '../../session/session.ts'
import { AnchorButton, Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { formatPosition, Player } from '../../ui/player.tsx'
import { showToast } from '../../ui/toast.tsx'
import { contentUrl, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './media-card.module.css'

/** Width and height of the picture. Some sizes are only a shape, such as `16x9`. */
const readSize = (size: string | null): { width: number; height: number } => {
  const [width, height] = (size ?? '').split('x').map(Number)
  return width !== undefined && height !== undefined && width > 0 && height > 0
    ? { width, height }
    : { width: 1280, height: 720 }
}

const Place = ({ size, children }: { size: string | null; children: ReactNode }) => {
  const { width, height } = readSize(size)
  return (
    <div className={styles['place']} style={{ aspectRatio: `${width} / ${height}` }}>
      {children}
    </div>
  )
}

const stages = ['accepted', 'queued', 'generating', 'copying'] as const

const findStep = ({ steps }: TaskView) =>
  steps.findLast(({ kind, ended_at: endedAt }) => endedAt === null && kind !== 'webhook')

const findStage = (view: TaskView): number => {
  const current = findStep(view)
  if (current === undefined || current.kind === 'queue') return 1
  return current.kind === 'store' ? 3 : 2
}

const Running = ({ view }: { view: TaskView }) => {
  const { media: texts } = useTexts(taskTexts)
  const stage = findStage(view)
  const position = view.own?.timeline.details.queue_position
  const left = view.own?.timeline.details.time_left_seconds
  return (
    <Place size={view.size}>
      <div className={styles['running']}>
        <span className="figure">{texts.percent(view.progress)}</span>
        <div
          className={styles['progress']}
          role="progressbar"
          aria-label={texts.progress}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={view.progress}
        >
          <i style={{ width: `${view.progress}%` }} />
        </div>
        <ol className={styles['stages']}>
          {stages.map((name, index) => (
            <li key={name} data-state={index < stage ? 'done' : index === stage ? 'current' : 'coming'}>
              {texts.steps[name]}
            </li>
          ))}
        </ol>
        <p className={styles['estimate']}>
          {position !== undefined && stage === 1 && (
            <span>{texts.position(formatNumber(position.min), formatNumber(position.max))}</span>
          )}
          <span>
            {left === undefined
              ? texts.noEstimate(formatTime(findStep(view)?.started_at ?? view.createdAt))
              : texts.left(formatDuration(left.min * 1_000), formatDuration(left.max * 1_000))}
          </span>
        </p>
      </div>
    </Place>
  )
}

const Empty = ({ size, children }: { size: string | null; children: ReactNode }) => (
  <Place size={size}>
    <div className={styles['empty']}>{children}</div>
  </Place>
)

const shareLink = (id: string, seconds: number): string => {
  const link = new URL(`/console/tasks/${encodeURIComponent(id)}`, location.origin)
  if (seconds >= 0.1) link.searchParams.set('t', seconds.toFixed(1))
  return link.href
}

export const MediaCard = ({ view, startAt }: { view: TaskView; startAt: number }) => {
  const { media: texts, actions } = useTexts(taskTexts)
  const session = useSession()
  const at = useRef(startAt)
  const [isAsked, setAsked] = useState(false)
  const { id, prompt, size, seconds, variants, expiresAt, status } = view
  const isOwn = view.own !== null
  const mayRead = isOwn || hasRole(session, 'support')
  const hasVideo = variants.includes('video')
  const isShown = hasVideo && mayRead && (isOwn || isAsked)
  const share = () => {
    const link = shareLink(id, at.current)
    const text = at.current >= 0.1 ? actions.sharedAt(formatPosition(at.current, 1)) : actions.shared
    void navigator.clipboard.writeText(link).then(() => showToast(text))
  }
  const poster = isOwn && variants.includes('thumbnail') ? { poster: contentUrl(id, 'thumbnail', true) } : {}
  return (
    <Card aria-label={texts.untitled}>
      <div className={styles['media']}>
        {isShown ? (
          <Player
            title={prompt === null ? texts.untitled : texts.label(prompt)}
            source={contentUrl(id, 'video', isOwn)}
            {...poster}
            {...readSize(size)}
            {...(seconds !== null && { seconds })}
            startAt={startAt}
            onTime={(time) => {
              at.current = time
            }}
          />
        ) : !view.isFinal ? (
          <Running view={view} />
        ) : (
          <Empty size={size}>
            <Clapperboard aria-hidden />
            {hasVideo && mayRead ? (
              <>
                <Button icon={<Eye />} onPress={() => setAsked(true)}>
                  {texts.show}
                </Button>
                <span>{texts.showNote}</span>
              </>
            ) : (
              <span>
                {view.kind === 'transcription'
                  ? texts.transcription
                  : status === 'completed' && isOwn
                    ? texts.expired
                    : texts.none}
              </span>
            )}
          </Empty>
        )}
        <div className={styles['below']}>
          <div className={styles['words']}>
            {prompt !== null && <p className={styles['prompt']}>{prompt}</p>}
            <p className="muted small-text">
              {[
                ...(size === null ? [] : [size.replace('x', '×')]),
                ...(seconds === null ? [] : [formatDuration(seconds * 1_000)]),
                ...(expiresAt === null || !hasVideo ? [] : [texts.keptUntil(formatDate(expiresAt))]),
              ].join(' · ')}
            </p>
          </div>
          {isShown && (
            <div className={styles['actions']}>
              <AnchorButton
                icon={<Download />}
                href={contentUrl(id, 'video', isOwn)}
                download={`${id.replaceAll(/[^\w.-]/g, '-')}.mp4`}
              >
                {actions.download}
              </AnchorButton>
              <Button icon={<Link2 />} onPress={share}>
                {actions.share}
              </Button>
            </div>
          )}
        </div>
      </div>
    </Card>
  )
}
