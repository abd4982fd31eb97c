/** Behaviour that `sim:…` directives in a prompt request, for testing a client. */
export interface Simulation {
  fail?: { code: string; atPercent: number }
  slowMs?: number
  stall?: true
  refusals?: number
  jumpyProgress?: true
}

export interface ParsedPrompt {
  simulation: Simulation
  /** The prompt without its directives. */
  text: string
}

const directive = /(?<![\p{L}\p{N}])sim:([a-z0-9]+)(?:=([a-z0-9_.]+)(?:@(\d{1,3})%?)?)?/giu
const slowMsMax = 24 * 60 * 60 * 1000

export function parsePrompt(prompt: string): ParsedPrompt {
  const simulation: Simulation = {}
  const text = prompt.replace(directive, (whole, name: string, value?: string, percent?: string) =>
    apply(simulation, name.toLowerCase(), value, percent) ? ' ' : whole,
  )
  return { simulation, text: text.replace(/\s+/gu, ' ').trim() }
}

/** Returns whether the directive is valid; others stay in the prompt as ordinary text. */
function apply(simulation: Simulation, name: string, value = '', percent = '0'): boolean {
  switch (name) {
    case 'fail':
      if (!/^[a-z][a-z0-9_]*$/iu.test(value)) return false
      simulation.fail = { code: value.toLowerCase(), atPercent: Math.min(99, Number(percent)) }
      return true
    case 'slow': {
      const slowMs = durationMs(value)
      if (slowMs === undefined) return false
      simulation.slowMs = Math.min(slowMsMax, slowMs)
      return true
    }
    case 'stall':
      simulation.stall = true
      return true
    case '429':
      if (!/^\d{1,4}$/u.test(value)) return false
      simulation.refusals = Number(value)
      return true
    case 'progress':
      if (value.toLowerCase() !== 'jumpy') return false
      simulation.jumpyProgress = true
      return true
    default:
      return false
  }
}

function durationMs(value: string): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m)?$/iu.exec(value)
  if (match === null) return undefined
  const scale = { ms: 1, s: 1000, m: 60_000 }[(match[2] ?? 's').toLowerCase()] ?? 1000
  return Math.round(Number(match[1]) * scale)
}
