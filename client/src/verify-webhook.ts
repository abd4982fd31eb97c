/** Verifies the deliveries of webhooks, as Standard Webhooks describes. */
import type { Event } from './generated/types.ts'
import { KinoraError } from './kinora-error.ts'

/** The headers of a delivery, as `fetch` or Node has them. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>

/** `secret`: that of the endpoint or of the account. `publicKeys`: those of `webhooks.publicKeys()`. */
export type WebhookKeys = { secret: string | string[] } | { publicKeys: string[] }

const toleranceSeconds = 300

const readHeader = (headers: WebhookHeaders, name: string): string => {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  return String(value ?? '')
}

/** Undefined for text that is not base64. */
const decode = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), (character) => character.codePointAt(0) ?? 0)
  } catch {
    return undefined
  }
}

const readKeys = async (keys: WebhookKeys) => {
  const isSecret = 'secret' in keys
  const texts = isSecret ? [keys.secret].flat() : keys.publicKeys
  const algorithm = isSecret ? { name: 'HMAC', hash: 'SHA-256' } : { name: 'Ed25519' }
  const imported = texts.map((text) => {
    const bytes = decode(text.replace(/^wh(sec|pk)_/, ''))
    if (bytes === undefined || bytes.length === 0)
      throw new KinoraError('invalid_signature', 'The secret of the webhook is not `whsec_` and base64.')
    return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify'])
  })
  return { version: isSecret ? 'v1' : 'v1a', algorithm, keys: await Promise.all(imported) }
}

/** The event of a delivery. Throws `invalid_signature` if the service did not send this body within five minutes. */
export const verifyWebhook = async (
  body: string | Uint8Array,
  headers: WebhookHeaders,
  given: WebhookKeys,
): Promise<Event> => {
  const refuse = (reason: string) =>
    new KinoraError('invalid_signature', `The webhook is not genuine: ${reason}.`)
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    throw refuse('its body must be the text or the bytes that arrived, before it is parsed')
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const timestamp = readHeader(headers, 'webhook-timestamp')
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < toleranceSeconds))
    throw refuse(`its timestamp '${timestamp}' is not of the last five minutes`)
  const { version, algorithm, keys } = await readKeys(given)
  const signed = new TextEncoder().encode(`${readHeader(headers, 'webhook-id')}.${timestamp}.${text}`)
  for (const signature of readHeader(headers, 'webhook-signature').split(' ')) {
    const [name, value = ''] = signature.split(',')
    const bytes = name === version ? decode(value) : undefined
    if (bytes === undefined) continue
    for (const key of keys) {
      if (await crypto.subtle.verify(algorithm, key, bytes, signed)) return JSON.parse(text) as Event
    }
  }
  throw refuse('no signature is valid')
}
