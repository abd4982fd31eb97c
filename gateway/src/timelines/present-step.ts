import type { AdminTimelineStep } from '@kinora/contract/operations/admin/task-timelines'
import type { TimelineStep as PresentedStep } from '@kinora/contract/operations/video-timelines'

import { secondsOf, secondsOrNull } from '../admin/unix-time.ts'
import type { TimelineStep } from './timeline-step.ts'

interface Context {
  createdAt: Date
  currency: string
}

/** How a customer sees the outcome of a submit. The reasons are about our providers, or our accounts there. */
const shownOutcomes: Record<string, string> = {
  not_delivered: 'failed',
  busy: 'failed',
  unauthorized: 'failed',
}

/** What customers and operators see. */
const presentStep = (step: TimelineStep, { createdAt, currency }: Context): PresentedStep => {
  const { kind, startedAt, endedAt, outcome, amountMicros, requestId, polls, delivery } = step
  return {
    kind,
    started_at: secondsOf(startedAt),
    ended_at: secondsOrNull(endedAt),
    offset_ms: startedAt.getTime() - createdAt.getTime(),
    duration_ms: endedAt === null ? null : endedAt.getTime() - startedAt.getTime(),
    attempt: step.attempt ?? null,
    outcome: outcome === null ? null : (shownOutcomes[outcome] ?? outcome),
    detail: step.detail ?? null,
    provider: null,
    currency,
    ...(amountMicros !== undefined && { amount_micros: amountMicros }),
    ...(requestId !== undefined && { request_id: requestId }),
    ...(kind === 'generate' && {
      polls: polls?.count ?? null,
      last_poll_at: secondsOrNull(polls?.lastAt ?? null),
    }),
    ...(delivery !== undefined && {
      delivery_id: delivery.id,
      event_type: delivery.type,
      status: delivery.status,
    }),
  }
}

/** The steps for a customer, without anything about a provider. A duplicate job is ours alone, and is not charged. */
export const presentSteps = (steps: TimelineStep[], context: Context): PresentedStep[] => {
  let attempts = 0
  return steps
    .filter(({ submit }) => submit?.isDuplicate !== true)
    .map((step) => {
      const presented = presentStep(step, context)
      if (step.kind !== 'submit') return presented
      attempts += 1
      return { ...presented, attempt: attempts }
    })
}

const presentSubmit = ({ submit }: TimelineStep) =>
  submit === undefined
    ? {}
    : {
        upstream_model: submit.upstreamModel,
        submit_outcome: submit.outcome,
        is_duplicate: submit.isDuplicate,
        reason: submit.decision?.reason ?? null,
        skipped: submit.decision?.skipped ?? [],
        failure_reason: submit.failureReason,
        exchanges: submit.exchanges.map(({ status, ...exchange }) => ({
          ...exchange,
          status: status ?? null,
        })),
      }

export const presentAdminSteps = (steps: TimelineStep[], context: Context): AdminTimelineStep[] =>
  steps.map((step) => ({
    ...presentStep(step, context),
    provider: step.provider ?? null,
    ...presentSubmit(step),
  }))
