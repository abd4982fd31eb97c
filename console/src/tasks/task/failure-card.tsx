/** Why the task failed, what it cost, and what to do next. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import { formatMoney } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { hasRole, hasScope, useSession } from '../../session/session.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Facts } from '../../ui/card.tsx'
import { Skeleton } from '../../ui/feedback.tsx'
import { Money } from '../../ui/values.tsx'
import { explanationQuery, isOperator, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './failure-card.module.css'

interface NextStep {
  key: string
  title: string
  detail?: ReactNode
  action: ReactNode
}

interface FailureCardProps {
  view: TaskView
  onRunAgain: () => void
  onRetry: () => void
}

const useNextSteps = ({ view, onRunAgain, onRetry }: FailureCardProps): NextStep[] => {
  const { failure: texts, again, retry } = useTexts(taskTexts)
  const { steps } = texts
  const session = useSession()
  const price = formatMoney(view.holdMicros, view.currency)
  const isSafe = view.explanation?.is_repeat_safe ?? false
  const mayCreate = view.own !== null && hasScope(session, 'create')
  const found: NextStep[] = []
  if (mayCreate && isSafe) {
    found.push({
      key: 'again',
      title: steps.again,
      detail: steps.againDetail,
      action: (
        <Button variant="primary" onPress={onRunAgain}>
          {again.action(price)}
        </Button>
      ),
    })
  }
  if (mayCreate) {
    found.push({
      key: 'change',
      title: isSafe ? steps.prompt : steps.change,
      detail: isSafe ? steps.promptDetail : steps.changeDetail,
      action: (
        <LinkButton
          to="/playground/video"
          search={{ model: view.model, ...(view.prompt !== null && { prompt: view.prompt }) }}
          variant={isSafe ? 'plain' : 'primary'}
        >
          {steps.open}
        </LinkButton>
      ),
    })
  }
  if (view.own === null && hasRole(session, 'support')) {
    found.push({
      key: 'retry',
      title: steps.retry,
      detail: steps.retryDetail(price),
      action: (
        <Button variant="primary" onPress={onRetry}>
          {retry.action(price)}
        </Button>
      ),
    })
  }
  if (isOperator(session)) {
    if (view.error?.code !== 'task_cancelled' && view.kind === 'video') {
      found.push({
        key: 'routes',
        title: steps.routes,
        detail: steps.routesDetail(view.model),
        action: (
          <LinkButton to="/models" search={{ id: view.model }}>
            {steps.routesAction}
          </LinkButton>
        ),
      })
    }
  }
  return found
}

export const FailureCard = (props: FailureCardProps) => {
  const { view } = props
  const { failure: texts } = useTexts(taskTexts)
  const session = useSession()
  const isAllowed = isOperator(session)
  const { data: explained, isLoading: isExplaining } = useQuery({
    ...explanationQuery(view.id),
    enabled: isAllowed,
  })
  const steps = useNextSteps(props)
  const { error, explanation, currency } = view
  const code = error?.code ?? 'upstream_error'
  const reasons = useReasons()
  const reason = explanation === null ? null : reasons.ofFailure(explanation, code, view.steps)
  const cause = explained && reasons.ofCause(explained.cause)
  const charged = explanation?.charged_micros ?? view.capturedMicros ?? 0
  const returned = Math.max(0, view.holdMicros - charged)
  return (
    <section className={styles['failure']} aria-labelledby="failure">
      <div className={styles['why']}>
        <h2 id="failure" className="title">
          {view.status === 'cancelled' ? texts.cancelled : texts.failed}
        </h2>
        <p>{reason?.message ?? (error === null ? null : reasons.ofTask({ ...error, code }))}</p>
        {reason?.hint !== undefined && <p className="soft">{reason.hint}</p>}
        {reason?.original !== undefined && (
          <p className="muted small-text" lang="en">
            {reason.original}
          </p>
        )}
        {isExplaining && <Skeleton height={84} />}
        {explained !== undefined && cause !== undefined && (
          <div className={styles['operators']}>
            <p>{cause.message}</p>
            {cause.original !== undefined && (
              <p className="soft" lang="en">
                {cause.original}
              </p>
            )}
            {explained.fix !== null && (
              <p className="soft" lang="en">
                {explained.fix}
              </p>
            )}
          </div>
        )}
        {steps.length > 0 && (
          <ol className={styles['steps']}>
            {steps.map(({ key, title, detail, action }, index) => (
              <li key={key}>
                <span className={styles['number']} aria-hidden>
                  {index + 1}
                </span>
                <p className="grow">
                  <span className="medium">{title}</span> <span className="soft">{detail}</span>
                </p>
                {action}
              </li>
            ))}
          </ol>
        )}
      </div>
      <div className={styles['facts']}>
        <Facts
          rows={[
            [
              texts.code,
              <span key="code" className="mono">
                {code}
              </span>,
            ],
            [
              view.own === null ? texts.charged : texts.paid,
              <strong key="charged">
                <Money micros={charged} currency={currency} />
              </strong>,
            ],
            [texts.returned, <Money key="returned" micros={returned} currency={currency} />],
            explanation === null
              ? undefined
              : [
                  texts.safe,
                  <span key="safe" className={explanation.is_repeat_safe ? 'good medium' : 'bad medium'}>
                    {explanation.is_repeat_safe ? texts.yes : texts.no}
                  </span>,
                ],
          ]}
        />
        <a href={`/docs/errors#${code}`} target="_blank" rel="noreferrer" className="link">
          {texts.meaning(code)}
        </a>
      </div>
    </section>
  )
}
