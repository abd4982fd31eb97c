/** One task: its video, what happened to it, what it cost, and what can be done with it. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Ban, Copy, ImagePlus, RotateCcw, Shuffle, SquareTerminal, Trash2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { commonTexts } from '../../i18n/common.ts'
import { shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { hasRole, hasScope, useSession } from '../../session/session.ts'
import { Page } from '../../shell/page.tsx'
import { ActionMenu, type MenuAction } from '../../ui/action-menu.tsx'
import { Button, LinkButton } from '../../ui/button.tsx'
import { EmptyState, ErrorPanel, Note, Skeleton } from '../../ui/feedback.tsx'
import { Status } from '../../ui/status.tsx'
import { showToast } from '../../ui/toast.tsx'
import { CopyButton } from '../../ui/values.tsx'
import { AttemptsCards } from './attempts-card.tsx'
import { DeliveriesCard } from './deliveries-card.tsx'
import { DetailsCard, PromptCard } from './details-card.tsx'
import { FailureCard } from './failure-card.tsx'
import { JsonCard } from './json-card.tsx'
import { LineageCard } from './lineage-card.tsx'
import { MediaCard } from './media-card.tsx'
import { ReceiptCard } from './receipt/receipt-card.tsx'
import { useTask, type TaskView } from './task-data.ts'
import { TaskQuestion, type Question } from './task-questions.tsx'
import { taskTexts } from './texts.ts'
import { TimelineCard } from './timeline/timeline-card.tsx'
import { useTaskKeys } from './use-task-keys.ts'

import styles from './task-page.module.css'

const useActions = (view: TaskView, onAsk: (question: Question) => void) => {
  const { actions: texts } = useTexts(taskTexts)
  const session = useSession()
  const navigate = useNavigate()
  const { id, status, isFinal, own, kind } = view
  const mayCreate = own !== null && hasScope(session, 'create')
  const mayManage = hasRole(session, 'support')
  const mayRemix = mayCreate && status === 'completed' && view.variants.includes('video')
  const remix = () => void navigate({ to: '/playground/video', search: { remix: id } })
  const copyCurl = () => {
    const path = own === null ? `/admin/v1/tasks/${id}` : `/v1/videos/${id}`
    const request = `curl ${location.origin}${path} \\\n  -H "Authorization: Bearer $KINORA_API_KEY"`
    void navigator.clipboard.writeText(request).then(() => showToast(texts.curlCopied))
  }
  const copyId = () => void navigator.clipboard.writeText(id).then(() => showToast(texts.copied(id)))
  const isFailed = isFinal && status !== 'completed'
  const all: (MenuAction | false)[] = [
    mayRemix && { id: 'remix', label: texts.remix, icon: <Shuffle />, onAction: remix },
    mayRemix && {
      id: 'reference',
      label: texts.reference,
      icon: <ImagePlus />,
      onAction: () => void navigate({ to: '/playground/video', search: { from: id } }),
    },
    mayCreate &&
      isFinal && {
        id: 'again',
        label: texts.again,
        icon: <RotateCcw />,
        onAction: () => onAsk('again'),
      },
    mayManage &&
      isFailed && {
        id: 'retry',
        label: texts.retry,
        icon: <RotateCcw />,
        onAction: () => onAsk('retry'),
      },
    { id: 'copy', label: texts.copyId, icon: <Copy />, onAction: copyId },
    { id: 'curl', label: texts.copyCurl, icon: <SquareTerminal />, onAction: copyCurl },
    !isFinal &&
      (mayCreate || mayManage) && {
        id: 'cancel',
        label: texts.cancel,
        icon: <Ban />,
        isDangerous: true,
        onAction: () => onAsk('cancel'),
      },
    mayCreate &&
      isFinal &&
      kind === 'video' && {
        id: 'delete',
        label: texts.delete,
        icon: <Trash2 />,
        isDangerous: true,
        onAction: () => onAsk('delete'),
      },
  ]
  return {
    menu: all.filter((action) => action !== false),
    remix: mayRemix ? remix : undefined,
    mayRunAgain: mayCreate && isFinal,
    mayCancel: !isFinal && (mayCreate || mayManage),
  }
}

/** The provider may have a job of which we do not know. */
const UnknownOutcome = ({ view, onAsk }: { view: TaskView; onAsk: (question: Question) => void }) => {
  const { resolve: texts } = useTexts(taskTexts)
  const reasons = useReasons()
  const session = useSession()
  const notice = view.own?.video.notice
  const last = view.any?.task.provider_attempts.at(-1)
  const isUnknown = last?.outcome === 'unknown' && !view.isFinal
  if (isUnknown && hasRole(session, 'support')) {
    return (
      <Note
        kind="warning"
        role="status"
        actions={
          <span className="row wrap">
            <Button size="small" onPress={() => onAsk('other')}>
              {texts.other}
            </Button>
            <Button size="small" variant="danger" onPress={() => onAsk('fail')}>
              {texts.fail}
            </Button>
          </span>
        }
      >
        <p className="medium">{texts.title}</p>
        <p>{texts.detail}</p>
      </Note>
    )
  }
  return notice === undefined ? null : (
    <Note kind="warning" role="status">
      {reasons.ofNotice(notice)}
    </Note>
  )
}

const Task = ({ view, startAt, ask }: { view: TaskView; startAt: number; ask: (q: Question) => void }) => {
  const isFailed = view.status === 'failed' || view.status === 'cancelled'
  return (
    <div className={styles['columns']}>
      <div className={styles['column']}>
        <UnknownOutcome view={view} onAsk={ask} />
        {isFailed ? (
          <FailureCard view={view} onRunAgain={() => ask('again')} onRetry={() => ask('retry')} />
        ) : (
          <MediaCard key={view.id} view={view} startAt={startAt} />
        )}
        <TimelineCard view={view} />
        <AttemptsCards view={view} />
        <DeliveriesCard view={view} />
        <div className={styles['last']}>
          <JsonCard key={view.id} view={view} />
        </div>
      </div>
      <div className={styles['column']}>
        <DetailsCard view={view} />
        <PromptCard view={view} />
        <ReceiptCard view={view} />
        <LineageCard view={view} />
      </div>
    </div>
  )
}

const Waiting = () => (
  <div className={styles['columns']}>
    <div className={styles['column']}>
      <Skeleton height={560} />
      <Skeleton height={360} />
    </div>
    <div className={styles['column']}>
      <Skeleton height={280} />
      <Skeleton height={260} />
    </div>
  </div>
)

const Heading = ({ id, children }: { id: string; children?: ReactNode }) => {
  const texts = useTexts(taskTexts)
  return (
    <div className={styles['heading']}>
      <Link to="/tasks" className={styles['back'] ?? ''}>
        {texts.tasks}
      </Link>
      <span className="muted" aria-hidden>
        /
      </span>
      <h1 title={id}>{shortenId(id)}</h1>
      <span className="wide-only">
        <CopyButton value={id} name={texts.id} />
      </span>
      {children}
    </div>
  )
}

const Actions = ({ view, onAsk }: { view: TaskView; onAsk: (question: Question) => void }) => {
  const texts = useTexts(taskTexts)
  const { menu, remix, mayRunAgain, mayCancel } = useActions(view, onAsk)
  useTaskKeys(view, remix)
  return (
    <>
      {remix !== undefined && (
        <span className="wide-only">
          <Button icon={<Shuffle />} onPress={remix}>
            {texts.actions.remix}
          </Button>
        </span>
      )}
      {mayRunAgain && view.status === 'completed' && (
        <span className="wide-only">
          <Button icon={<RotateCcw />} onPress={() => onAsk('again')}>
            {texts.actions.again}
          </Button>
        </span>
      )}
      {mayCancel && (
        <span className="wide-only">
          <Button icon={<Ban />} onPress={() => onAsk('cancel')}>
            {texts.actions.cancel}
          </Button>
        </span>
      )}
      <ActionMenu label={texts.more} actions={menu} />
    </>
  )
}

export const TaskPage = () => {
  const texts = useTexts(taskTexts)
  const common = useTexts(commonTexts)
  const { id } = useParams({ from: '/shell/tasks/$id' })
  const { t } = useSearch({ from: '/shell/tasks/$id' })
  const { view, error, retry } = useTask(id)
  const [question, setQuestion] = useState<Question | null>(null)
  const startAt = Math.max(0, Number(t ?? 0) || 0)
  return (
    <Page
      title={texts.title(shortenId(id))}
      heading={
        <Heading id={id}>
          {view && (
            <>
              <Status status={view.status} progress={view.progress} />
              <span role="status" className="visually-hidden">
                {texts.announce(common.status[view.status])}
              </span>
            </>
          )}
        </Heading>
      }
      actions={view && <Actions view={view} onAsk={setQuestion} />}
    >
      {view ? (
        <>
          <Task view={view} startAt={startAt} ask={setQuestion} />
          <TaskQuestion question={question} view={view} onClose={() => setQuestion(null)} />
        </>
      ) : error !== null ? (
        <ErrorPanel error={error} onRetry={retry} />
      ) : view === undefined ? (
        <Waiting />
      ) : (
        <EmptyState
          title={texts.missing.title}
          actions={<LinkButton to="/tasks">{texts.missing.action}</LinkButton>}
        >
          {texts.missing.detail}
        </EmptyState>
      )}
    </Page>
  )
}
