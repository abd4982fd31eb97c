/** Single keys of a terminal, without Enter. The terminal gets its usual mode back however this process ends. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const controlC = '\u0003'
const controlD = '\u0004'

/** Whether this process may read keys: the system stops one in the background that changes the mode of the terminal. */
const isInForeground = (): boolean => {
  if (process.platform !== 'linux')
    return spawnSync('/bin/ps', ['-p', String(process.pid), '-o', 'stat='], {
      encoding: 'utf8',
    }).stdout.includes('+')
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const [, , group, , , foregroundGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return group === foregroundGroup
  } catch {
    return false
  }
}

export const canReadKeys = (input: NodeJS.ReadStream = process.stdin): boolean =>
  input.isTTY && isInForeground()

interface KeyReader {
  onKey: (key: string) => void
  /** Ctrl-C and Ctrl-D, which send no signal in this mode. */
  onStop: () => void
}

/** Returns a function that stops reading, or undefined if there is no terminal to read from. */
export const readKeys = (
  { onKey, onStop }: KeyReader,
  input: NodeJS.ReadStream = process.stdin,
): (() => void) | undefined => {
  if (!canReadKeys(input)) return undefined
  const restore = () => {
    // The terminal may be gone.
    try {
      input.setRawMode(false)
    } catch {}
  }
  const read = (text: string) => {
    if (text.includes(controlC) || text.includes(controlD)) onStop()
    // Pasted text and the codes of arrow keys are not commands.
    else if ([...text].length === 1) onKey(text)
  }
  const ignore = () => undefined
  input.setRawMode(true)
  process.on('exit', restore)
  input.setEncoding('utf8')
  input.on('error', ignore)
  input.on('data', read)
  input.resume()
  return () => {
    input.off('data', read)
    input.pause()
    restore()
    process.off('exit', restore)
  }
}
