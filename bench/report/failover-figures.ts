/** How the work of a fault was divided. Seconds are since the fault, and since the repair. */
export interface FailoverFigures {
  works: number
  /** Works that ended with an error. */
  failed: number
  /** Until the first work that the fallback did. */
  failoverSeconds: number
  /** Until the first work that the repaired provider did, and until the last that the fallback did. */
  firstReturnSeconds: number
  lastElsewhereSeconds: number
  /** By creation time, in steps of five seconds from the fault on. */
  shares: { seconds: number; first: number; second: number; failed: number }[]
}
