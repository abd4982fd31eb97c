/** Customers that request speech and transcriptions, which are answered and charged without a task. */
import { audioForm, wave } from '../kit/sound.ts'
import { modelsOfAudio } from './fault-stack.ts'
import { send, type Customer } from './retrying.ts'

export interface AudioCustomers {
  /** How many requests each account has made; retries do not count. */
  requestsOf: Map<string, number>
  /** Requests this much speech at once, besides the steady requests. Returns how many the first attempts have served. */
  burst: (count: number) => Promise<number>
  isIdle: () => boolean
  stop: () => void
}

const speechEveryMs = 1_000
const transcriptionEveryMs = 4_000
const recording = wave(1)
/** Sent over half a second, so that a fault meets some in the middle. */
const speech = JSON.stringify({
  ...{ model: modelsOfAudio.speech, voice: 'nova', response_format: 'wav' },
  input: 'The ships left before first light. vendor:chunks=8 vendor:pace=60',
})

export const startAudioCustomers = ({
  name,
  origins,
  customers,
  track,
  onFailure,
  signal,
}: {
  /** Distinguishes these requests from those of other runs. */
  name: string
  origins: string[]
  customers: Customer[]
  track: (work: Promise<unknown>) => void
  onFailure: (reason: string) => void
  signal: AbortSignal
}): AudioCustomers => {
  const requestsOf = new Map(customers.map(({ accountId }) => [accountId, 0]))
  let count = 0
  let underWay = 0
  const request = async (path: string, body: string | FormData): Promise<boolean> => {
    const index = count
    count += 1
    const customer = customers[index % customers.length]
    if (customer === undefined) return false
    requestsOf.set(customer.accountId, (requestsOf.get(customer.accountId) ?? 0) + 1)
    underWay += 1
    const sent = await send({
      ...{ ...customer, origins, path, body, signal, method: 'POST' },
      headers: {
        'idempotency-key': `audio-${name}.${index}`,
        ...(typeof body === 'string' && { 'content-type': 'application/json' }),
      },
    })
    underWay -= 1
    if (sent.kind === 'failed' && !signal.aborted) onFailure(`${path}: ${sent.reason}`)
    return sent.kind === 'ok' && sent.attempts === 1
  }
  const speak = () => {
    const spoken = request('/v1/audio/speech', speech)
    track(spoken)
    return spoken
  }
  const speaking = setInterval(() => void speak(), speechEveryMs)
  const transcribing = setInterval(
    () =>
      track(
        request('/v1/audio/transcriptions', audioForm(recording, { model: modelsOfAudio.transcription })),
      ),
    transcriptionEveryMs,
  )
  return {
    requestsOf,
    burst: async (burstCount) => {
      const spoken = await Promise.all(Array.from({ length: burstCount }, speak))
      return spoken.filter(Boolean).length
    },
    isIdle: () => underWay === 0,
    stop: () => {
      clearInterval(speaking)
      clearInterval(transcribing)
    },
  }
}
