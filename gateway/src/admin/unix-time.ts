export const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000)

export const secondsOrNull = (time: Date | null): number | null => (time === null ? null : secondsOf(time))

export const timeOfSeconds = (seconds: number): Date => new Date(seconds * 1000)

/** The time in a filter parameter. */
export const givenTime = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : timeOfSeconds(Number(text))
