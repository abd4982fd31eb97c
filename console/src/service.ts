/** The clients of the service. Requests carry the cookie of the session, and no key. */
import { Kinora } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'

const options = { baseUrl: location.origin, maxRetries: 1, timeoutMs: 60_000 }

export const kinora = new Kinora(options)
export const kinoraAdmin = new KinoraAdmin(options)
