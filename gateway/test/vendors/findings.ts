/** The figures that are summed up. */
export interface Findings {
  tasks: number
  faults: number
  /** Tasks that did not end as expected. */
  lost: number
  chargedTwice: number
  /** Additional jobs that a vendor accepted for a task. */
  duplicates: number
  /** Forged webhooks that were accepted. */
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

/** Whether this is the full-length run. */
export const isFull = process.env['PROVE_VENDORS'] === 'full'
