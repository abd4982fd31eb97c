/** Ids of deliveries are UUIDs of version 7, whose time determines the partition. */
import { timeOfUuidV7 } from '../../platform/ids/uuid.ts'

/** The database reads years up to 9999. */
const yearMax = 9_998

/**
 * The UTC day in the id of a delivery; undefined for other text. A delivery has the day when its transaction began, which may
 * be the day before.
 */
export const dayOfDelivery = (id: string): string | undefined => {
  const atMs = timeOfUuidV7(id)
  if (atMs === undefined) return undefined
  const at = new Date(atMs)
  return at.getUTCFullYear() > yearMax ? undefined : at.toISOString().slice(0, 10)
}
