/** The processor time that processes have used, as the system reports it. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK']))

/** The fields of /proc/…/stat after the name of the program, which may contain spaces. */
const statOf = (pid: number | string): string[] => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

const parentAt = 1
/** User and system time of the ended children of a process, after its own. */
const childrenFrom = 13
const childrenTo = 15
const nanosecondsPerMs = 1e6

/** The threads of a process, to the nanosecond. Ticks are too long for the many processes of PostgreSQL. */
const ownMsOf = (pid: number | string): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [runNs = 0] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ').map(Number)
    return sum + runNs / nanosecondsPerMs
  }, 0)

/** Milliseconds used by a process and its ended children; 0 if it has ended. */
export const cpuMsOf = (pid: number | string | undefined): number => {
  if (pid === undefined) return 0
  try {
    const ticks = statOf(pid)
      .slice(childrenFrom, childrenTo)
      .reduce((sum, text) => sum + Number(text), 0)
    return ownMsOf(pid) + (ticks * 1000) / ticksPerSecond
  } catch {
    return 0
  }
}

/** Milliseconds used by a process and by all of its children, such as the backends of PostgreSQL. */
export const cpuMsOfFamily = (pid: number | undefined): number => {
  const isChild = (name: string) => {
    try {
      return Number(statOf(name)[parentAt]) === pid
    } catch {
      return false
    }
  }
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isChild(name))
  return [pid, ...children].reduce((sum: number, each) => sum + cpuMsOf(each), 0)
}

/** Returns a function that gives the share of the wanted processor time that the host of this machine withheld. */
export const startStealShare = (): (() => number) => {
  const read = () =>
    (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '').split(/\s+/).slice(1, 9).map(Number)
  const before = read()
  return () => {
    const used = read().map((value, index) => value - (before[index] ?? 0))
    const [user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0, steal = 0] = used
    return steal / Math.max(1, user + nice + system + interrupts + soft + steal)
  }
}
