/** What a code of the API means, and what to do. */
export interface CodeText {
  message: string
  hint: string
}

/** The service itself writes English. Other languages have their own words for every code, and show its words below. */
export const texts = {
  errors: {} as Partial<Record<string, CodeText>>,
  /** Of failed tasks. */
  tasks: {} as Partial<Record<string, CodeText>>,
  /** Where a task failed, by its last step. */
  places: {} as Partial<Record<string, string>>,
  /** About tasks that go on. */
  notices: {} as Partial<Record<string, string>>,
  /** Of tasks, for operators. */
  causes: {} as Partial<Record<string, string>>,
}
