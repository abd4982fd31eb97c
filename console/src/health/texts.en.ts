export const texts = {
  states: { healthy: 'healthy', slow: 'slow', failing: 'failing', none: 'no calls' },
  strip: (name: string) => `Health of ${name}, minute by minute`,
  reading: (time: string, state: string, calls: string, errors: string, p95: string | undefined) =>
    `${time}: ${state}, ${calls} calls, ${errors} failed${p95 === undefined ? '' : `, p95 ${p95}`}`,
  readingNone: (time: string) => `${time}: no calls`,
  from: (minutes: number) => `${minutes} min ago`,
  to: 'now',
  answered: (answered: string, calls: string) =>
    `${answered} of ${calls} calls were answered. A refusal because of the content is an answer.`,
}
