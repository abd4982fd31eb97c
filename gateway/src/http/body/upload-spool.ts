import type { Ticket } from '../../admission/admission.ts'
import type { DiskSpace } from '../../admission/disk-space.ts'

/** The directory of uploads while their request is in flight. */
export interface UploadSpool {
  directory: string
  /** Counts bytes before they are written, and checks the free disk space at intervals. */
  charge: (ticket: Ticket, bytes: number) => Promise<void> | undefined
}

const checkEveryBytes = 8 * 1_048_576

export const createUploadSpool = (directory: string, { assertFree }: DiskSpace): UploadSpool => {
  let bytesSinceCheck = checkEveryBytes
  return {
    directory,
    charge: (ticket, bytes) => {
      ticket.take('spoolBytes', bytes)
      bytesSinceCheck += bytes
      if (bytesSinceCheck < checkEveryBytes) return undefined
      bytesSinceCheck = 0
      return assertFree().catch((error: unknown) => {
        // Check at every write until there is space again.
        bytesSinceCheck = checkEveryBytes
        throw error
      })
    },
  }
}
