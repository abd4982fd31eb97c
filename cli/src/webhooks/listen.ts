/** `kinora webhooks listen`: posts the events of the account to a server of this machine. */
import { isKinoraError, type Event, type Kinora } from '@kinora/client'
import { eventTypeNames } from '@kinora/contract/webhook-events'

import { connect } from '../connection/connect.ts'
import { didYouMean } from '../frame/suggest.ts'
import { UsageError } from '../frame/usage-error.ts'
import { cleanText, isTerminal, print, printJson, style, tell } from '../terminal/print.ts'
import { signWebhook } from './sign.ts'

interface ListenInput {
  forwardTo: string | undefined
  events: string | undefined
  json: boolean
  profile: string | undefined
}

const timeoutMs = 30_000
const responseCharactersMax = 200
/** Of the events of videos, so that their lines are columns. */
const typeCharacters = 'video.processing'.length

const readForwardUrl = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const given = /^\d+$/.test(text) ? `localhost:${text}` : text
  const url = /^https?:\/\//.test(given) ? given : `http://${given}`
  const { username, protocol } = URL.canParse(url) ? new URL(url) : { username: '?' }
  if (username === '' && (protocol === 'http:' || protocol === 'https:') && !/:\/\/.*:\/\//.test(url))
    return url
  throw new UsageError(`--forward-to must be a URL such as localhost:3000/webhooks, got "${text}".`)
}

const readTypes = (text: string | undefined): Set<string> | undefined => {
  if (text === undefined) return undefined
  const types = text.split(',').map((type) => type.trim())
  const unknown = types.find((type) => !eventTypeNames.some((name) => name === type))
  if (unknown === undefined) return new Set(types)
  throw new UsageError(
    `There is no event ${unknown}.${didYouMean(unknown, eventTypeNames)} The types are: ${eventTypeNames.join(', ')}.`,
  )
}

/** The object of an event as it is now. Like a webhook, an event has the whole object instead of its id. */
const readObject = async (kinora: Kinora, { type, data }: Event): Promise<unknown> => {
  const id = (data as { id?: string }).id ?? ''
  const readers: Record<string, () => Promise<unknown>> = {
    video: () => kinora.videos.get(id),
    transcription_task: () => kinora.transcriptionTasks.get(id),
    'character.created': () => kinora.characters.get(id),
  }
  const read = readers[type] ?? readers[type.split('.')[0] ?? '']
  if (read === undefined) return data
  try {
    return await read()
  } catch (error) {
    if (isKinoraError(error) && error.status === 404) return { id, deleted: true }
    throw error
  }
}

type Outcome = { status: number; ms: number; text: string } | { error: string; ms: number }

/** Why `fetch` failed is in the cause. */
const describeFailure = (error: unknown): string => {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string }
  return cause?.code ?? cause?.message ?? message
}

const forward = async (url: string, secret: string, event: Event): Promise<Outcome> => {
  const body = JSON.stringify(event)
  const timestamp = Math.floor(Date.now() / 1000)
  const startedMs = performance.now()
  const elapsed = () => Math.round(performance.now() - startedMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Kinora',
        ...signWebhook(secret, { id: event.id, timestamp, body }),
      },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = (await response.text()).slice(0, responseCharactersMax)
    return { status: response.status, ms: elapsed(), text: cleanText(text) }
  } catch (error) {
    return { error: describeFailure(error), ms: elapsed() }
  }
}

const describeOutcome = (outcome: Outcome): string => {
  if ('error' in outcome) return style('red', outcome.error)
  const isSuccess = outcome.status >= 200 && outcome.status < 300
  const text = isSuccess || outcome.text === '' ? '' : `  ${outcome.text}`
  return `${style(isSuccess ? 'green' : 'red', String(outcome.status))} in ${outcome.ms} ms${text}`
}

const show = (event: Event, outcome: Outcome | undefined, json: boolean): void => {
  if (json) return printJson({ event, ...(outcome !== undefined && { response: outcome }) })
  const time = new Date(event.created_at * 1000).toTimeString().slice(0, 8)
  const id = (event.data as { id?: string }).id ?? event.id
  print(
    [
      time,
      style('bold', isTerminal() ? event.type.padEnd(typeCharacters) : event.type),
      id,
      ...(outcome === undefined ? [] : ['→', describeOutcome(outcome)]),
    ].join('  '),
  )
}

export const listen = async (input: ListenInput): Promise<void> => {
  const url = readForwardUrl(input.forwardTo)
  const types = readTypes(input.events)
  const { kinora, service } = await connect(input)
  const secret = url === undefined ? '' : (await kinora.webhooks.secret.get()).secret
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  tell(`Listening to ${service.url}. Stop with Ctrl-C.`)
  if (url !== undefined) {
    tell(`Forwarding to ${url}`)
    tell(`Verify the signatures with ${secret}`)
  }
  try {
    for await (const event of kinora.events.list({ stream: true }, { signal: stop.signal })) {
      if (types !== undefined && !types.has(event.type)) continue
      if (url === undefined) {
        show(event, undefined, input.json)
        continue
      }
      const whole = { ...event, data: await readObject(kinora, event) } as Event
      show(event, await forward(url, secret, whole), input.json)
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}
