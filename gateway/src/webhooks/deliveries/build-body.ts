/** The body of a delivery: the event, and its object as a read shows it now. */
import type { ClaimedDelivery } from './delivery-store.ts'

/** Receivers may refuse larger ones. */
const bodyBytesMax = 20_000

/** Reads an object of an account as the API shows it; undefined if it no longer exists. */
export type ReadObject = (accountId: string, id: string) => Promise<object | undefined>

export type BuildBody = (
  delivery: Pick<
    ClaimedDelivery,
    'accountId' | 'payload' | 'eventId' | 'type' | 'objectId' | 'data' | 'occurredAt'
  >,
) => Promise<string>

/** `readers` has an entry for each object that types of events begin with. */
export const createBuildBody =
  (readers: Record<string, ReadObject>): BuildBody =>
  async ({ accountId, payload, eventId, type, objectId, data, occurredAt }) => {
    const event = (content: unknown) =>
      JSON.stringify({
        id: eventId,
        object: 'event',
        type,
        created_at: Math.floor(occurredAt.getTime() / 1000),
        data: content,
      })
    if (data !== null) return event(data)
    if (payload === 'thin') return event({ id: objectId })
    const [name = ''] = type.split('.')
    const content = await readers[name]?.(accountId, objectId)
    if (content === undefined) return event({ id: objectId, deleted: true })
    const body = event(content)
    return Buffer.byteLength(body) <= bodyBytesMax ? body : event({ id: objectId, truncated: true })
  }
