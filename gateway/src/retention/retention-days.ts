/** Retention in days, for accounts without their own settings. */
export interface RetentionDays {
  /** Results, from their completion. */
  media: number
  /** Tasks, from their creation. */
  task: number
  /** The request log. */
  log: number
}

/** A function, because operators can change the settings at run time. */
export type InstanceDays = () => RetentionDays
