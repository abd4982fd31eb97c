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

const marks = { ok: '✓', warning: '▲', failed: '✗', absent: '–' }

export const showMark = (state: Check['state']): string => marks[state]

export const showCheck = ({ name, state, detail, fix }: Check): string =>
  `${marks[state]} ${name.padEnd(15)} ${detail}${fix === undefined ? '' : `  → ${fix}`}`
