import { isTerminal, style, wrapFrom, type Style } from '../terminal/print.ts'

/** `absent` means that an optional part is missing, and `warning` that something will soon fail or is unsafe. */
export interface Check {
  name: string
  state: 'ok' | 'warning' | 'failed' | 'absent'
  detail: string
  fix?: string
}

/** A busy machine is slow, but not broken. */
export const timeoutMs = 20_000

export const ok = (name: string, detail: string): Check => ({ name, state: 'ok', detail })
export const failed = (name: string, detail: string, fix: string): Check => ({
  ...{ name, state: 'failed', detail, fix },
})
export const warning = (name: string, detail: string, fix: string): Check => ({
  ...{ name, state: 'warning', detail, fix },
})
export const absent = (name: string, detail: string, fix?: string): Check => ({
  ...{ name, state: 'absent', detail },
  ...(fix !== undefined && { fix }),
})

export const messageOf = (error: unknown): string => {
  const { message, code, cause } = error as { message?: string; code?: string; cause?: { message?: string } }
  return cause?.message ?? (message === undefined || message === '' ? (code ?? String(error)) : message)
}

export const codeOf = (error: unknown): string => {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return cause?.code ?? code ?? ''
}

const marks: Record<Check['state'], { sign: string; style: Style }> = {
  ok: { sign: '✓', style: 'green' },
  warning: { sign: '▲', style: 'yellow' },
  failed: { sign: '✗', style: 'red' },
  absent: { sign: '–', style: 'dim' },
}

/** A line of a report. On a terminal, what to do is below, and both are wrapped. */
export const showRow = (
  state: Check['state'],
  name: string,
  { width, detail, fix }: { width: number; detail: string; fix: string | undefined },
): string => {
  const { sign, style: signStyle } = marks[state]
  const column = width + 3
  const begin = `${style(signStyle, sign)} ${name.padEnd(width)} ${wrapFrom(column, detail)}`
  if (fix === undefined) return begin
  if (!isTerminal()) return `${begin}  → ${fix}`
  return `${begin}\n${' '.repeat(column)}${style('cyan', '→')} ${wrapFrom(column + 2, fix)}`
}

export const showCheck = ({ name, state, detail, fix }: Check): string =>
  showRow(state, name, { width: 15, detail, fix })
