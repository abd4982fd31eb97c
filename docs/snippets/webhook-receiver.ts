import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace('whsec_', ''), 'base64')

/** Whether the service has sent this body, within the last five minutes. */
const verify = (headers: IncomingHttpHeaders, body: string): boolean => {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  return String(signatures)
    .split(' ')
    .some((signature) => {
      const [version, value = ''] = signature.split(',')
      const given = Buffer.from(value, 'base64')
      return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
    })
}

const server = createServer(async (request, response) => {
  const body = await text(request)
  if (!verify(request.headers, body)) {
    response.writeHead(401).end()
    return
  }
  // Respond first: work that takes longer than 15 seconds looks like a failure.
  response.writeHead(204).end()
  const event = JSON.parse(body)
  console.log(event.type, event.data.id)
})
server.listen(process.env.PORT ?? 3000, () => {
  console.log(`Listening on port ${(server.address() as AddressInfo).port}`)
})
