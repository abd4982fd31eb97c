/** An explanation as sentences, in the order in which to read them. */
import type { TaskExplanation } from '@kinora/contract/operations/admin/task-explanations'

import type { ExplainedAttempt, ExplainedTask } from './explained-task.ts'
import { amountText, durationText, quote } from './texts.ts'

const stageTexts: Record<ExplainedTask['stages'][number]['name'], string> = {
  queue: 'in the queue',
  submit: 'until a provider had the job',
  provider: 'for the provider',
  store: 'for the download, the check and the storing of the result',
  transcribe: 'for the transcription',
}

const outcomeTexts: Record<ExplainedAttempt['outcome'], string> = {
  accepted: 'accepted the job',
  not_delivered: 'could not be reached',
  busy: 'had no capacity',
  unauthorized: 'refused our API key',
  rejected: 'rejected the job',
  moderated: 'rejected the content',
  unknown: 'did not answer clearly',
}

const introductionOf = ({ id, accountName, model, state, errorCode, ...task }: ExplainedTask): string => {
  const ageMs = (task.finishedAt?.getTime() ?? task.nowMs) - task.createdAt.getTime()
  const what = `Task ${id} of ${accountName === '' ? 'an erased account' : accountName} (${model})`
  if (state === 'completed') return `${what} was completed ${durationText(ageMs)} after it was created.`
  if (state === 'failed')
    return `${what} failed with ${errorCode} ${durationText(ageMs)} after it was created.`
  return `${what} was created ${durationText(ageMs)} ago and has not ended.`
}

export const stageMs = ({ nowMs }: ExplainedTask, { startedAt, endedAt }: ExplainedTask['stages'][number]) =>
  Math.max(0, (endedAt?.getTime() ?? nowMs) - startedAt.getTime())

const stagesSentence = (task: ExplainedTask): string => {
  const parts = task.stages.map((stage) => `${durationText(stageMs(task, stage))} ${stageTexts[stage.name]}`)
  const so = task.finishedAt === null ? ' so far' : ''
  return `It took${so}: ${parts.join(', ')}.`
}

/** The reason of a failure is left out if `told` has it. */
const attemptSentence = (attempt: ExplainedAttempt, number: number, told: string): string => {
  const { provider, outcome, routeReason, skipped, failureReason, isDuplicate } = attempt
  const why = routeReason === null ? '' : ` (${routeReason})`
  const others = skipped.map((each) => `${each.provider}: ${each.reason}`).join('; ')
  const isTold = failureReason === null || told.includes(quote(failureReason))
  return [
    `Attempt ${number}: ${provider ?? 'no provider'}${why} ${outcomeTexts[outcome]}${isDuplicate ? ', a second one, which is not charged' : ''}.`,
    ...(isTold
      ? []
      : [`${outcome === 'accepted' ? 'It failed later' : 'The reason'}: ${quote(failureReason)}`]),
    ...(others === '' ? [] : [`Not chosen: ${others}.`]),
  ].join(' ')
}

const moneySentence = (money: NonNullable<TaskExplanation['money']>): string => {
  const { hold_micros: hold, captured_micros: captured, refunded_micros: refunded, currency } = money
  const amount = (micros: number) => amountText(micros, currency)
  const cost =
    money.cost_micros === null
      ? 'What it costs at the provider is unknown.'
      : `It costs ${amount(money.cost_micros)} at the provider.`
  if (captured === null) return `${amount(hold)} is held. ${cost}`
  const charged = captured === 0 ? 'nothing was charged' : `${amount(captured)} was charged`
  const back = refunded === 0 ? '' : `, of which ${amount(refunded)} was refunded`
  return `${amount(hold)} was held, and ${charged}${back}. ${captured === 0 && money.cost_micros === null ? 'The provider may still charge for what it accepted.' : cost}`
}

export const sentencesOf = (
  task: ExplainedTask,
  { cause, fix, money }: Pick<TaskExplanation, 'cause' | 'fix' | 'money'>,
): string[] => [
  introductionOf(task),
  cause.text,
  ...(fix === null ? [] : [`What to do: ${fix}`]),
  stagesSentence(task),
  ...task.attempts.map((attempt, index) => attemptSentence(attempt, index + 1, cause.text)),
  ...(money === null ? [] : [moneySentence(money)]),
]
