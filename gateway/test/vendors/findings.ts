/** What all of it is added up from. */
export interface Findings {
  tasks: number
  faults: number
  /** Tasks that did not end, or not as they should. */
  lost: number
  chargedTwice: number
  /** Jobs a vendor took for a task beside the one that counts. */
  duplicates: number
  /** Deliveries that were believed and were not the vendor's. */
  forgeries: number
}

export const noFindings: Findings = {
  tasks: 0,
  faults: 0,
  lost: 0,
  chargedTwice: 0,
  duplicates: 0,
  forgeries: 0,
}

/** Whether this is the run at full length. */
export const isFull = process.env['PROVE_VENDORS'] === 'full'
