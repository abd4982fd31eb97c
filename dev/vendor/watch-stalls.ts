export interface Stall {
  endedAtMs: number
  lengthMs: number
}

const everyMs = 100
const lengthMsMin = 500

/** Records when this process did not run, because it was paused, was busy or got no processor time. */
export function watchStalls(): { stalls: Stall[]; stop: () => void } {
  const stalls: Stall[] = []
  let lastMs = performance.now()
  const timer = setInterval(() => {
    const lengthMs = performance.now() - lastMs - everyMs
    lastMs += lengthMs + everyMs
    if (lengthMs >= lengthMsMin) stalls.push({ endedAtMs: Date.now(), lengthMs })
  }, everyMs)
  timer.unref()
  return { stalls, stop: () => clearInterval(timer) }
}
