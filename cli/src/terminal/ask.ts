/** Questions to the person at the terminal. `@clack/prompts` is loaded at the first one. */
import { exitCodes } from '../frame/exit-code.ts'
import { UsageError } from '../frame/usage-error.ts'
import { cleanText } from './print.ts'

export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY

const interrupted = () => Object.assign(new Error('Interrupted.'), { exitCode: exitCodes.interrupted })

/** Questions are drawn on stderr, because stdout may be a file. */
const output = process.stderr

export const askText = async (message: string, initial: string): Promise<string> => {
  const { isCancel, text } = await import('@clack/prompts')
  const given = await text({ message, placeholder: initial, defaultValue: initial, output })
  if (isCancel(given)) throw interrupted()
  return given.trim()
}

export const askSecret = async (message: string): Promise<string> => {
  const { isCancel, password } = await import('@clack/prompts')
  const given = await password({ message, output })
  if (isCancel(given)) throw interrupted()
  return given.trim()
}

export const confirm = async (message: string): Promise<boolean> => {
  const { confirm: ask, isCancel } = await import('@clack/prompts')
  const given = await ask({ message: cleanText(message), output, initialValue: false })
  if (isCancel(given)) throw interrupted()
  return given
}

/** Asks before a change that cannot be undone. Throws without a yes; without a terminal, --yes is needed. */
export const confirmChange = async (question: string, isConfirmed: boolean): Promise<void> => {
  if (isConfirmed) return
  if (!canAsk()) throw new UsageError(`${question} Add --yes to confirm without a terminal.`)
  if (await confirm(question)) return
  throw Object.assign(new Error('Nothing was changed.'), { exitCode: exitCodes.failed })
}

/** The chosen value; undefined after Ctrl-C. */
export const choose = async <Value extends string>(
  message: string,
  options: { value: Value; label: string }[],
): Promise<Value | undefined> => {
  const { isCancel, select } = await import('@clack/prompts')
  const given = await select<string>({ message, options, output })
  return isCancel(given) ? undefined : (given as Value)
}
