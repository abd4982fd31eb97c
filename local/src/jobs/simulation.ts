/** What the words `sim:…` in a prompt ask for: rehearsals of trouble, for trying out a client. */
export interface MagicWords {
  fail?: { code: string; atPercent: number }
  slowMs?: number
  stall?: true
  refusals?: number
  jumpyProgress?: true
}

export interface ReadPrompt {
  magic: MagicWords
  /** The prompt without its magic words. */
  text: string
}

const magicWord = /(?<![\p{L}\p{N}])sim:([a-z0-9]+)(?:=([a-z0-9_.]+)(?:@(\d{1,3})%?)?)?/giu
const longestSlowMs = 24 * 60 * 60 * 1000

export function readPrompt(prompt: string): ReadPrompt {
  const magic: MagicWords = {}
  const text = prompt.replace(magicWord, (whole, name: string, value?: string, percent?: string) =>
    apply(magic, name.toLowerCase(), value, percent) ? ' ' : whole,
  )
  return { magic, text: text.replace(/\s+/gu, ' ').trim() }
}

/** Answers whether the word was understood; others stay in the prompt as ordinary text. */
function apply(magic: MagicWords, name: string, value = '', percent = '0'): boolean {
  switch (name) {
    case 'fail':
      if (!/^[a-z][a-z0-9_]*$/iu.test(value)) return false
      magic.fail = { code: value.toLowerCase(), atPercent: Math.min(99, Number(percent)) }
      return true
    case 'slow': {
      const slowMs = durationMs(value)
      if (slowMs === undefined) return false
      magic.slowMs = Math.min(longestSlowMs, slowMs)
      return true
    }
    case 'stall':
      magic.stall = true
      return true
    case '429':
      if (!/^\d{1,4}$/u.test(value)) return false
      magic.refusals = Number(value)
      return true
    case 'progress':
      if (value.toLowerCase() !== 'jumpy') return false
      magic.jumpyProgress = true
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
