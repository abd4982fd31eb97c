/** Replaces whatever differs from run to run by fixed values. */
import type { Example } from '../../contract/src/examples.ts'

const past = 1_767_225_600
const future = 1_798_761_600
const textCharactersMax = 400

const isTime = (name: string) => /(?:_at|_time)$|^(?:at|as_of|created|until|since|period|from|to)$/.test(name)
const isFuture = (name: string) => /^(?:expires|ends|cycle_ends|resets|deadline)_at$|^until$/.test(name)
/** Estimates depend on the machine, and are absent while they are unknown. */
const isEstimate = (name: string) => name === 'queue_position' || name === 'time_left_seconds'
const isDuration = (name: string) =>
  name === 'ms' || name === 'duration_ms' || name === 'worker_seen_seconds_ago'

/** Ids are numbered in the order in which they appear, so that equal ids stay equal. */
const createText = () => {
  const numbers = new Map<string, number>()
  const numbered = (id: string, length: number) => {
    if (!numbers.has(id)) numbers.set(id, numbers.size + 1)
    return String(numbers.get(id)).padStart(length, '0')
  }
  return (text: string): string =>
    text
      .replace(
        /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
        (id) => `00000000-0000-7000-8000-${numbered(id, 12)}`,
      )
      .replace(
        /(:|%3A)(remix-)?(\d{10}-00[0-9A-Za-z]{12})(?![0-9A-Za-z])/g,
        (_, colon: string, remix: string | undefined, id: string) =>
          `${colon}${remix ?? ''}${past}-00${numbered(id, 12)}`,
      )
      .replace(/\bevt_[0-9a-f]{32}\b/g, (id) => `evt_${numbered(id, 32)}`)
      .replace(/\b[0-9a-f]{64}\b/g, (hash) => numbered(hash, 64))
      .replace(/\bsk-(sub-|admin-)?[0-9A-Za-z]{36}\b/g, (_, kind = '') => `sk-${kind}${'x'.repeat(36)}`)
      .replace(/#link=[\w-]{43}/g, `#link=${'x'.repeat(43)}`)
      .replace(/\bwhsec_[0-9A-Za-z+/]{43}=/g, `whsec_${'x'.repeat(43)}=`)
      .replace(/\bwhpk_[0-9A-Za-z+/]{43}=/g, `whpk_${'x'.repeat(43)}=`)
      .replace(/\bevt_[0-9a-f]{32}\b/g, (id) => `evt_${numbered(id, 32)}`)
      .replace(/\b[0-9a-f]{16}\b/g, (id) => numbered(id, 16))
      .replace(/http:\/\/127\.0\.0\.1:\d+\/webhooks/g, 'https://example.com/webhooks')
      .replace(/…[0-9A-Za-z+/]{4}(?![0-9A-Za-z])/g, '…xxxx')
      .replace(/(?<![\d.-])1[789]\d{8}(?![\d.-])/g, String(past))
      .replace(/expires=\d+&key=[^&"\s]+&signature=[^&"\s]+/g, `expires=${future}&key=k1&signature=xxxx`)
      .replace(/\d+(?:\.\d+)? s(?= (?:in the queue|until a provider|for the|after it was)\b)/g, '0.4 s')
      .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:9000')
      .replace(/(?<=\/statements\/)\d{4}-\d\d\b/g, '2026-01')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-01T00:00:00.000Z')
}

const shortened = (text: string) =>
  text.length > textCharactersMax ? `${text.slice(0, textCharactersMax)}…` : text

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fixes the members of a value by their names, and its texts. */
const createFix = () => {
  const text = createText()
  const members = (value: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !isEstimate(name))
        .map(([name, member]) => [name, fixed(member, name)]),
    )
  const fixed = (value: unknown, name = ''): unknown => {
    if (typeof value === 'number' && isTime(name)) return isFuture(name) ? future : past
    if (typeof value === 'number' && isDuration(name)) return 12
    if (typeof value === 'string') {
      if (name === 'day') return '2026-01-01'
      if (name === 'month') return '2026-01'
      // The token of a sign-in link.
      if (name === 'link') return 'x'.repeat(value.length)
      return name === 'next' || name === 'cursor' ? 'xxxx' : shortened(text(value))
    }
    // The service may have been observed before the call, or not.
    if (name === 'days' && Array.isArray(value)) return []
    if (Array.isArray(value)) {
      const isLong = value.length > 3 && isObject(value[0])
      return value.slice(0, isLong ? 2 : undefined).map((item) => fixed(item))
    }
    if (!isObject(value)) return value
    // The parameters of a signed link.
    if ('signature' in value)
      return { ...members(value), expires: String(future), key: 'k1', signature: 'xxxx' }
    return members(value)
  }
  return fixed
}

/** The first and the last event. How many events of progress come between them depends on the machine. */
const shortenedEvents = (stream: string, fixed: ReturnType<typeof createFix>) => {
  const events = stream.split('\n\n').filter((event) => event.includes('data: '))
  return [events[0], events.at(-1)]
    .map((event, index) =>
      (event ?? '')
        .replace(/^id: \d+$/m, `id: ${index + 1}`)
        .replace(/^data: (.*)$/m, (_, data: string) => `data: ${JSON.stringify(fixed(JSON.parse(data)))}`),
    )
    .map((event) => `${event}\n\n`)
    .join('')
}

const isOpenapi = (body: unknown): body is Record<string, unknown> => isObject(body) && 'openapi' in body

/** Only the head of an OpenAPI document. */
const headOf = ({ openapi, info, servers }: Record<string, unknown>) => ({ openapi, info, servers })

/** The name of a new character is random. */
const withFixedUsernames = (examples: Record<string, Example>): Record<string, Example> => {
  const { username } = (examples['createCharacter']?.response.body ?? {}) as { username?: string }
  return username === undefined
    ? examples
    : (JSON.parse(JSON.stringify(examples).replaceAll(username, 'calm.otter_42')) as Record<string, Example>)
}

export const normalize = (given: Record<string, Example>): Record<string, unknown> => {
  const fixed = createFix()
  return Object.fromEntries(
    Object.entries(withFixedUsernames(given)).map(([id, { request, response }]) => {
      const { contentType, body } = response
      const shown =
        contentType === 'text/event-stream'
          ? shortenedEvents(String(body), fixed)
          : fixed(isOpenapi(body) ? headOf(body) : body)
      return [id, { request: fixed(request), response: { contentType, body: shown } }]
    }),
  )
}
