/** Opens the client of the service that a command calls. */
import { Kinora } from '@kinora/client'

import { findService, type FoundService } from './find-service.ts'

export interface Connection {
  kinora: Kinora
  service: FoundService
}

export const connect = async ({ profile }: { profile: string | undefined }): Promise<Connection> => {
  const service = await findService(profile)
  return { kinora: new Kinora({ baseUrl: service.url, apiKey: service.key }), service }
}
