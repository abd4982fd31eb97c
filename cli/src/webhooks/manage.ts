/** `kinora webhooks list`, `deliveries`, `redeliver` and `trigger`. */
import type {
  Kinora,
  ListWebhookDeliveriesParams,
  TestWebhookEndpointParams,
  WebhookDeliveryWithAttempts,
} from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { exitCodes } from '../frame/exit-code.ts'
import { UsageError } from '../frame/usage-error.ts'
import { cleanText } from '../terminal/clean-text.ts'
import { formatTime } from '../terminal/format.ts'
import { print, printJson, type Style } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'

interface CommonInput {
  json: boolean
  profile: string | undefined
}

const styles: Record<string, Style> = {
  enabled: 'green',
  delivered: 'green',
  failing: 'yellow',
  pending: 'yellow',
  disabled: 'red',
  failed: 'red',
}

export const listEndpoints = async (input: CommonInput & { limit: number }): Promise<void> => {
  const { kinora } = await connect(input)
  const page = await kinora.webhooks.list({ limit: input.limit })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    { title: 'state', cell: ({ state }) => state, style: ({ state }) => styles[state] },
    { title: 'url', cell: ({ url }) => url, isFlexible: true },
    { title: 'events', cell: ({ events }) => String(events.length), isRight: true },
  ])
}

export const listDeliveries = async (
  input: CommonInput & { endpoint: string | undefined; state: string | undefined; limit: number },
): Promise<void> => {
  const { kinora } = await connect(input)
  const page = await kinora.webhooks.deliveries.list({
    limit: input.limit,
    ...(input.endpoint !== undefined && { endpoint_id: input.endpoint }),
    ...(input.state !== undefined && { state: input.state }),
  } as ListWebhookDeliveriesParams)
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    { title: 'state', cell: ({ state }) => state, style: ({ state }) => styles[state] },
    { title: 'event', cell: ({ type }) => type },
    { title: 'tries', cell: ({ attempt_count: count }) => String(count), isRight: true },
    { title: 'created', cell: ({ created_at }) => formatTime(created_at) },
    { title: 'url', cell: ({ url }) => url ?? '', isFlexible: true },
  ])
}

export const redeliver = async (input: CommonInput & { id: string }): Promise<void> => {
  const { kinora } = await connect(input)
  const delivery = await kinora.webhooks.deliveries.redeliver(input.id)
  if (input.json) return printJson(delivery)
  print(`${delivery.type} is sent again to ${delivery.url ?? 'a deleted endpoint'}.`)
}

const findOnlyEndpoint = async (kinora: Kinora): Promise<string> => {
  const { data } = await kinora.webhooks.list({ limit: 2 })
  const [only] = data
  if (only !== undefined && data.length === 1) return only.id
  throw new UsageError(
    only === undefined
      ? 'The account has no webhook endpoint. Create one, or use kinora webhooks listen.'
      : 'The account has several webhook endpoints. Name one with --endpoint; kinora webhooks list shows them.',
  )
}

const attemptsMsMax = 30_000
const pollEveryMs = 300

/** The delivery after its first attempt, or as it is if that takes too long. */
const awaitAttempt = async (kinora: Kinora, id: string): Promise<WebhookDeliveryWithAttempts> => {
  const startedMs = performance.now()
  for (;;) {
    const delivery = await kinora.webhooks.deliveries.get(id)
    if (delivery.attempts.length > 0 || performance.now() - startedMs > attemptsMsMax) return delivery
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
  }
}

export const trigger = async (
  input: CommonInput & { type: string; endpoint: string | undefined },
): Promise<number> => {
  const { kinora } = await connect(input)
  const endpoint = input.endpoint ?? (await findOnlyEndpoint(kinora))
  const { id } = await kinora.webhooks.test(endpoint, { type: input.type } as TestWebhookEndpointParams)
  const delivery = await awaitAttempt(kinora, id)
  const [attempt] = delivery.attempts
  const isDelivered = delivery.state === 'delivered'
  if (input.json) printJson(delivery)
  else if (attempt === undefined) print(`${delivery.type} is not sent yet: ${id}`)
  else {
    const outcome = attempt.status ?? attempt.error ?? 'no response'
    const response = cleanText(attempt.response ?? '')
    print(
      `${delivery.type} → ${outcome} in ${attempt.duration_ms} ms${response === '' ? '' : `  ${response}`}`,
    )
  }
  return isDelivered ? 0 : exitCodes.failed
}
