import type { Ticket } from '../../admission/admission.ts'
import type { DiskSpace } from '../../admission/disk-space.ts'

/** Where uploads are put while their request is in flight. */
export interface Spool {
  directory: string
  /** Counts bytes that are about to be written, and looks at the disk now and then. */
  charge: (ticket: Ticket, bytes: number) => Promise<void> | undefined
}

const lookEveryBytes = 8 * 1_048_576

export const createSpool = (directory: string, { assertFree }: DiskSpace): Spool => {
  let sinceLookBytes = lookEveryBytes
  return {
    directory,
    charge: (ticket, bytes) => {
      ticket.take('spoolBytes', bytes)
      sinceLookBytes += bytes
      if (sinceLookBytes < lookEveryBytes) return undefined
      sinceLookBytes = 0
      return assertFree().catch((error: unknown) => {
        // Until there is space again, every write looks.
        sinceLookBytes = lookEveryBytes
        throw error
      })
    },
  }
}
