/** The ids of requests, which contain the time at which the request arrived. */
import { timeOfUuidV7, uuidV7 } from './uuid.ts'

const prefix = 'req_'

export const createRequestId = (): string => prefix + uuidV7()

/** The time of a request id; undefined for any other text. */
export const timeOfRequestId = (id: string): number | undefined =>
  id.startsWith(prefix) ? timeOfUuidV7(id.slice(prefix.length)) : undefined
