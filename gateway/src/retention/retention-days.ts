/** How long things are kept, in days, where an account has no term of its own. */
export interface RetentionDays {
  /** Results, from their completion on. */
  media: number
  /** Tasks, from their creation on. */
  task: number
  /** The log of requests. */
  log: number
}

/** Asked for anew each time, because an operator may change them while we run. */
export type InstanceDays = () => RetentionDays
