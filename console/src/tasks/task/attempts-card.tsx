/** For operators: which providers were considered, what they were asked, and what they answered. */
import { CircleCheck, CircleSlash, CircleX } from 'lucide-react'
import { useState } from 'react'

import { formatDuration } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Code } from '../../ui/code.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import type { AnyTask, TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './attempts-card.module.css'

type Attempt = AnyTask['task']['provider_attempts'][number]

const isGood = ({ outcome, failure_reason: reason }: Attempt) => outcome === 'accepted' && reason === null

/** A job can fail after it was accepted. */
const nameOutcome = (attempt: Attempt) =>
  attempt.outcome === 'accepted' && !isGood(attempt) ? 'failed' : attempt.outcome

/** The decision of the last attempt, and what became of the earlier ones. */
const RoutingCard = ({ task }: { task: AnyTask['task'] }) => {
  const { routing: texts, timeline } = useTexts(taskTexts)
  const last = task.provider_attempts.at(-1)
  const { provider, reason, skipped } = task.decision ?? {
    provider: last?.provider ?? task.provider,
    reason: last?.reason ?? null,
    skipped: last?.skipped ?? [],
  }
  if (provider === null) return null
  const earlier = task.provider_attempts.slice(0, -1)
  return (
    <Card title={texts.why(provider)}>
      <ul className={styles['routing']}>
        {earlier.map((each) => (
          <li key={each.attempt}>
            <CircleX aria-hidden className="bad" />
            <div>
              <p className="medium">{each.provider}</p>
              <p className="soft small-text">
                {[timeline.outcomes[nameOutcome(each)] ?? each.outcome, each.failure_reason]
                  .filter((part) => part !== null)
                  .join(': ')}
              </p>
            </div>
          </li>
        ))}
        {skipped.map((each) => (
          <li key={each.provider}>
            <CircleSlash aria-hidden className="muted" />
            <div>
              <p className="medium">{each.provider}</p>
              <p className="soft small-text">{texts.skipped(each.reason)}</p>
            </div>
          </li>
        ))}
        <li>
          <CircleCheck aria-hidden className="good" />
          <div>
            <p className="medium">{provider}</p>
            <p className="soft small-text">{texts.chosen(reason)}</p>
          </div>
        </li>
      </ul>
    </Card>
  )
}

const ExchangesSheet = ({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) => {
  const { attempts: texts } = useTexts(taskTexts)
  return (
    <Sheet isOpen onClose={onClose} title={texts.exchange(attempt.attempt, attempt.provider)}>
      {attempt.exchanges.length === 0 && <p className="muted">{texts.none}</p>}
      {attempt.exchanges.map(({ what, method, path, status, ms, answer }, index) => (
        <section key={index} className={styles['exchange']}>
          <div className="row between">
            <h3>{what}</h3>
            <span className="row">
              <Tag color={status === null || status >= 400 ? 'red' : 'green'}>
                {status ?? texts.noResponse}
              </Tag>
              <span className="muted small-text">{formatDuration(ms)}</span>
            </span>
          </div>
          <p className="mono soft">
            {method} {path}
          </p>
          {answer !== '' && (
            <div className={styles['answer']}>
              <Code text={answer} name={texts.response(what)} />
            </div>
          )}
        </section>
      ))}
    </Sheet>
  )
}

export const AttemptsCards = ({ view }: { view: TaskView }) => {
  const { attempts: texts, timeline } = useTexts(taskTexts)
  const [shown, setShown] = useState<number | null>(null)
  if (view.any === null || view.kind !== 'video') return null
  const { task } = view.any
  const attempt = task.provider_attempts.find((each) => each.attempt === shown)
  return (
    <div className={styles['pair']}>
      <RoutingCard task={task} />
      <Card title={texts.title} actions={<span className="muted small-text">{texts.note}</span>} isFlush>
        {task.provider_attempts.length === 0 && <p className={`${styles['none']} muted`}>{texts.empty}</p>}
        <ol>
          {task.provider_attempts.map((each) => (
            <li key={each.attempt} className={styles['attempt']}>
              <span className={styles['number']} aria-hidden>
                {each.attempt}
              </span>
              <div className="grow">
                <p>
                  <span className="medium">{each.provider}</span>{' '}
                  <span className="muted small-text mono">{each.upstream_model}</span>
                </p>
                {each.failure_reason !== null && <p className="soft small-text">{each.failure_reason}</p>}
                {each.is_duplicate && <p className="fair small-text">{texts.duplicate}</p>}
                {each.exchanges.length > 0 && (
                  <Button variant="ghost" size="small" onPress={() => setShown(each.attempt)}>
                    {texts.exchanges}
                  </Button>
                )}
              </div>
              <Status status={isGood(each) ? 'completed' : 'failed'}>
                {timeline.outcomes[nameOutcome(each)] ?? each.outcome}
              </Status>
            </li>
          ))}
        </ol>
      </Card>
      {attempt !== undefined && <ExchangesSheet attempt={attempt} onClose={() => setShown(null)} />}
    </div>
  )
}
