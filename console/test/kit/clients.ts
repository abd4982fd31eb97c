/** Clients of the seeded service, for what a test prepares and checks without a browser. */
import { Kinora } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'

import { getSeed } from './console.ts'

export const openClient = async (whose: 'customer' | 'otherCustomer' = 'customer'): Promise<Kinora> => {
  const seed = await getSeed()
  return new Kinora({ baseUrl: seed.url, apiKey: seed[whose].key })
}

export const openAdmin = async (): Promise<KinoraAdmin> => {
  const { url, operators } = await getSeed()
  return new KinoraAdmin({ baseUrl: url, apiKey: operators.admin })
}

/** Adds a model like `vidB-2` that only this provider makes. */
export const addModel = async (admin: KinoraAdmin, id: string, provider: string): Promise<void> => {
  const { settings } = await admin.models.get('vidB-2')
  const { aliases: _, ...own } = settings as Record<string, unknown>
  await admin.models.set(id, { settings: own })
  await admin.models.setRoutes(id, { routes: [{ provider }] })
}
