/** The bar at the bottom while tasks are selected, and the question before something is done with them. */
import { Ban, RotateCw, Trash2, X } from 'lucide-react'
import { useState } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { useSession } from '../../session/session.ts'
import { Button } from '../../ui/button.tsx'
import { Note } from '../../ui/feedback.tsx'
import { Confirm } from '../../ui/sheet.tsx'
import { Bar } from '../../ui/status.tsx'
import { showToast } from '../../ui/toast.tsx'
import { isRunning, type TaskRow } from '../rows/task-row.ts'
import { taskTexts } from '../texts.ts'
import {
  findConcerned,
  mayAct,
  runAll,
  sumPrices,
  type BulkAction,
  type BulkFailure,
} from './bulk-actions.ts'

import styles from './bulk-bar.module.css'

interface BulkBarProps {
  rows: TaskRow[]
  isOperatorView: boolean
  isLost: boolean
  onClear: () => void
  /** The action was done with these tasks. */
  onDone: (action: BulkAction, rows: TaskRow[]) => void
}

interface Question {
  action: BulkAction
  rows: TaskRow[]
  done: number
  isBusy: boolean
  failures: BulkFailure[]
}

const failuresShown = 20

export const BulkBar = ({ rows, isOperatorView, isLost, onClear, onDone }: BulkBarProps) => {
  const texts = useTexts(taskTexts)
  const session = useSession()
  const [question, setQuestion] = useState<Question>()
  const ask = (action: BulkAction, concerned: TaskRow[]) =>
    setQuestion({ action, rows: concerned, done: 0, isBusy: false, failures: [] })

  const confirm = async ({ action, rows: asked, failures }: Question) => {
    const concerned = failures.length > 0 ? failures.map(({ row }) => row) : asked
    const running = { action, rows: concerned, done: 0, isBusy: true, failures: [] }
    setQuestion(running)
    const result = await runAll(action, concerned, isOperatorView, (done) =>
      setQuestion({ ...running, done }),
    )
    onDone(action, result.done)
    if (result.failures.length === 0) {
      setQuestion(undefined)
      showToast(texts.confirm[action].done(result.done.length))
    } else setQuestion({ ...running, isBusy: false, done: concerned.length, failures: result.failures })
  }

  const parts = (
    [
      ['running', rows.filter(isRunning).length],
      ['completed', rows.filter(({ status }) => status === 'completed').length],
      ['failed', rows.filter(({ status }) => status === 'failed').length],
      ['cancelled', rows.filter(({ status }) => status === 'cancelled').length],
    ] as const
  )
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${texts.bulk.parts[name]}`)
  const actions = mayAct(session, isOperatorView)
    ? (['cancel', 'retry', 'remove'] as const)
        .map((action) => ({ action, concerned: findConcerned(action, rows, isOperatorView) }))
        .filter(({ concerned }) => concerned.length > 0)
    : []
  const icons = { cancel: <Ban />, retry: <RotateCw />, remove: <Trash2 /> }
  return (
    <>
      {rows.length > 0 && (
        <section className={styles['bar']} aria-label={texts.bulk.label}>
          <span className="medium nowrap" role="status">
            {texts.bulk.selected(rows.length)}
          </span>
          <span className={`muted small-text ${styles['parts']}`}>{parts.join(', ')}</span>
          {isLost ? (
            <span className="fair small-text nowrap">{texts.bulk.waits}</span>
          ) : (
            actions.map(({ action, concerned }) => (
              <Button
                key={action}
                size="small"
                variant={action === 'retry' ? 'plain' : 'danger'}
                icon={icons[action]}
                onPress={() => ask(action, concerned)}
              >
                {texts.bulk[action](concerned.length, sumPrices(action, concerned))}
              </Button>
            ))
          )}
          <Button
            variant="ghost"
            size="small"
            isIcon
            icon={<X />}
            label={texts.bulk.clear}
            onPress={onClear}
          />
        </section>
      )}
      {question !== undefined && (
        <BulkQuestion
          question={question}
          isOperatorView={isOperatorView}
          onConfirm={() => void confirm(question)}
          onClose={() => setQuestion(undefined)}
        />
      )}
    </>
  )
}

interface BulkQuestionProps {
  question: Question
  isOperatorView: boolean
  onConfirm: () => void
  onClose: () => void
}

const BulkQuestion = ({ question, isOperatorView, onConfirm, onClose }: BulkQuestionProps) => {
  const texts = useTexts(taskTexts)
  const reasons = useReasons()
  const { action, rows, done, isBusy, failures } = question
  const price = sumPrices(action, rows)
  const words = texts.confirm[action]
  const effect =
    action === 'retry' && isOperatorView
      ? texts.confirm.retry.operatorEffect(price)
      : texts.confirm[action].effect(price)
  return (
    <Confirm
      question={words.question(rows.length)}
      action={failures.length > 0 ? texts.confirm.again(failures.length) : words.action(rows.length, price)}
      isOpen
      isBusy={isBusy}
      isDangerous={action !== 'retry'}
      onConfirm={onConfirm}
      onClose={() => {
        if (!isBusy) onClose()
      }}
    >
      <p>{effect}</p>
      {(isBusy || failures.length > 0) && (
        <div className="stack small">
          <span className="muted small-text" role="status">
            {texts.confirm.progress(done, rows.length)}
          </span>
          <Bar share={done / rows.length} label={texts.confirm.progress(done, rows.length)} />
        </div>
      )}
      {failures.length > 0 && (
        <Note kind="danger" role="alert">
          <p className="medium">{texts.confirm.failures(failures.length)}</p>
          <ul className={styles['failures']}>
            {failures.slice(0, failuresShown).map(({ row, error }) => (
              <li key={row.id}>
                <span className="mono">{shortenId(row.id)}</span> {reasons.ofError(error).message}
              </li>
            ))}
          </ul>
        </Note>
      )}
    </Confirm>
  )
}
