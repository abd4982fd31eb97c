/** The attempts of a delivery, newest first, and what the endpoint has responded. */
import { formatDuration, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Tag } from '../ui/status.tsx'
import { Time } from '../ui/values.tsx'
import { webhookTexts } from './texts.ts'
import type { WebhookDeliveryWithAttempts } from './webhook-data.ts'

import styles from './webhooks.module.css'

export const AttemptList = ({ delivery }: { delivery: WebhookDeliveryWithAttempts }) => {
  const { delivery: texts } = useTexts(webhookTexts)
  const { attempts, state, next_attempt_at: nextAt } = delivery
  return (
    <div className={styles['attempts']}>
      {state === 'pending' && (
        <p className="muted" role="status">
          {attempts.length === 0 ? texts.waiting : nextAt !== null && texts.next(formatTime(nextAt))}
        </p>
      )}
      {attempts
        .toReversed()
        .map(({ attempt, started_at: at, duration_ms: duration, status, error, response }) => (
          <section key={attempt} className={styles['attempt']} aria-label={texts.attempt(attempt)}>
            <div className="row between">
              <span className="medium">{texts.attempt(attempt)}</span>
              <Tag color={status !== null && status < 300 ? 'green' : 'red'}>
                {status ?? texts.noResponse}
              </Tag>
            </div>
            <p className="muted small-text">
              <Time at={at} /> · {formatDuration(duration)}
            </p>
            {error !== null && <p className="bad">{error}</p>}
            {response !== null &&
              (response === '' ? (
                <p className="muted small-text">{texts.emptyResponse}</p>
              ) : (
                // Long responses are scrolled, also by keyboard.
                <pre className={styles['response']} tabIndex={0} role="region" aria-label={texts.response}>
                  {response}
                </pre>
              ))}
          </section>
        ))}
    </div>
  )
}
